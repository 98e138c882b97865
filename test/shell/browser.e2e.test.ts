/** The shell's library in a browser, as the page of a program that embeds it would use it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { noBrowser, startBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { directives, message, named, say, scriptedEngine, stream } from "../support/scripted-engine.ts";

/** What the page does, as text: it is run over there. */
const program = `async () => {
  const { Shell, ShellError } = await import("/src/sdk/shell/index.ts");
  const log = [];
  const shell = new Shell({
    url: location.origin + "/openharness/v1",
    headers: { authorization: "Bearer k" },
    retry: { firstDelayMs: 1 },
    handlers: {
      render_message: ({ payload }) => void log.push(payload.text),
      simulate_action: () => ({ pressed: true }),
    },
    approve: ({ payload }) => confirm(payload.message),
    onNotice: (text) => log.push("notice: " + text),
  });
  const turn = await shell.send("go");
  const state = JSON.parse(JSON.stringify(shell.state));
  const error = await shell.send("").then(() => null, (e) => e instanceof ShellError && e.code);
  return { log, status: turn.status, outcomes: turn.outcomes.map(({ status }) => status), state, error };
}`;

test("SHL-41 an embedded shell in a browser handles streams, retries, approvals, outcomes", {
  skip: noBrowser,
}, async () => {
  // Given a page in a browser, when it embeds the shell, then streams, retries, approvals and outcomes work as
  // everywhere.
  await using engine = await scriptedEngine(
    (asked, reply) => {
      stream(reply).directive(asked, 1, say("streamed", named("m1", "message")));
      reply.end();
    },
    (asked, reply) => {
      const { directive, frame, end } = stream(reply);
      const list = [
        say("streamed", named("m1", "message")),
        {
          action_type: "simulate_action",
          requires_user_approval: true,
          payload: { message: "Press it?" },
          ...named("d1", "action", { expects_outcome: true }),
        },
        { action_type: "com.example.fly", payload: { fallback_message: "Cannot fly." } },
      ];
      for (const [index, item] of list.entries()) directive(asked, index + 1, item);
      frame(
        "response",
        message(asked, { action_directives: list, continuation: { continuation_token: "t1" } }),
      );
      end();
    },
    directives(say("done")),
    (_asked, reply) => void reply.writeHead(404).end(),
  );
  await using browser = await startBrowser();
  const page = await browser.newPage();
  const dialogs: string[] = [];
  page.on("dialog", async (dialog) => {
    dialogs.push(dialog.message());
    await dialog.accept();
  });
  await page.goto(new URL("/", engine.url).href);
  const result: Json = await page.evaluate(`(${program})()`);
  assert.deepEqual(result.log, ["streamed", "notice: Cannot fly.", "done"]);
  assert.deepEqual(dialogs, ["Press it?"]);
  assert.equal(result.status, "completed");
  assert.deepEqual(result.outcomes, ["succeeded", "succeeded", "unknown_action_type", "succeeded"]);
  assert.deepEqual(result.state.reports, []);
  assert.equal(result.error, "http_error");
  assert.equal(engine.asked[1]?.text, engine.asked[0]?.text);
  assert.equal(engine.asked[0]?.headers.authorization, "Bearer k");
  const { continuation } = engine.asked[2]?.body.request.context ?? {};
  assert.deepEqual(continuation.extensions["com.bridle"].outcomes, [
    { directive_id: "d1", status: "completed", result: { pressed: true } },
  ]);
});

/** What is left of shells and their runs: erased, gone by age, or moved to another server. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { filesWith } from "../support/canaries.ts";
import { assertRebuildable } from "../support/log.ts";
import { config } from "../support/openharness-server.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";
import { directivesOf, errorOf, everything, message, outcome, runOf, Shell, textsOf } from "./wire.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let shell: Shell;

before(async () => {
  directory = await temporaryDirectory();
  server = await startServer({ config, data: directory.path });
  shell = new Shell(server);
});
after(async () => {
  await server.stop();
  await assertRebuildable(directory.path);
  await directory[Symbol.asyncDispose]();
});

const able = { capabilities: everything };

describe("Afterwards", () => {
  test("OPH-14, OPH-42 an erased conversation is in no file and not in a repeated request", async () => {
    // Given a conversation that is erased, when its files are searched and its request is repeated, then nothing of it
    // is there.
    const sent = message(
      {
        session_id: "to be forgotten",
        user_intent:
          'say erased-canary-1\ndirective render_ui {"payload":{"component":"erased-canary-2"}}\nask Which?',
        task_hint: { sop_id: "rehearsal", note: "erased-canary-3" },
        environment_state: {
          privacy_tier: "restricted",
          window: "erased-canary-4",
          padding: "x".repeat(6000),
        },
        shell: { shell_kind: "erased-canary-5" },
      },
      able,
    );
    const answered = await shell.send(sent);
    assert.ok(textsOf(answered).includes("erased-canary-1"));
    assert.notDeepEqual(filesWith(directory.path, "erased-canary"), []);
    const { session_id } = answered.response.extensions["com.bridle"];
    const { status } = await shell.client.post(`/v1/sessions/${session_id}/erase`);
    assert.equal(status, 200);
    assert.deepEqual(filesWith(directory.path, "erased-canary"), []);
    const again = await shell.send(sent);
    assert.ok(!JSON.stringify(again).includes("erased-canary"));
    const { continuation } = answered.response;
    const late = await shell.send(message({ user_intent: "more", continuation }));
    assert.equal(errorOf(late).details.failure_code, "canceled");
  });

  test("OPH-29, OPH-14 a moved session replays elsewhere and leaves the shell's line behind", async () => {
    // Given a run with a shell, when its session is moved to another server, then it can be replayed there, and the
    // shell's line stays here.
    const press = { action_type: "simulate_action" };
    const told = await shell.say(
      { directives: [{ action_type: "noop" }, press] },
      {
        session_id: "moving",
        task_hint: { sop_id: "director" },
        environment_state: { window: "stays-here-canary" },
      },
      able,
    );
    const done = await shell.resume(told, { outcomes: [outcome(directivesOf(told)[1])] });
    const { session_id } = done.response.extensions["com.bridle"];
    const exported = `${shell.client.url}/v1/sessions/${session_id}/export`;
    const log = await (await fetch(exported, { headers: shell.client.headers() })).text();
    assert.ok(!log.includes("shell_link") && !log.includes("stays-here-canary"));
    await using elsewhere = await startServer({ config });
    const there = new Shell(elsewhere);
    const imported = await there.client.call("/v1/sessions/import", {
      raw: log,
      headers: { "content-type": "application/jsonl" },
    });
    assert.equal(imported.status, 201, JSON.stringify(imported.body));
    const { body: replay } = await there.client.post(`/v1/tasks/${runOf(done)}/replay`, { mode: "exact" });
    const ended = await there.client.untilTask(replay.id, ({ status }) =>
      ["COMPLETED", "FAILED"].includes(status),
    );
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
  });

  test("OPH-25, OPH-42 requests and tokens of runs expired from the log are refused as such", async () => {
    // Given runs that have left the log by age, when their requests and tokens come again, then they are refused as what
    // they are.
    await using old = await temporaryDirectory();
    await using keeping = await startServer({ data: old.path, config: { retainMs: 1 } });
    const there = new Shell(keeping);
    const sent = message({ user_intent: "return done", task_hint: { sop_id: "rehearsal" } });
    const answered = await there.send(sent);
    const { body } = await there.client.post("/v1/retention/sweep", {});
    assert.ok(body.tasks >= 1, JSON.stringify(body));
    assert.equal(errorOf(await there.send(sent)).code, "invalid_request");
    const task = (await there.client.get(`/v1/tasks/${runOf(answered)}`)).body;
    assert.equal(task.status, "COMPLETED");
    await keeping.stop();
    await assertRebuildable(old.path);
  });
});

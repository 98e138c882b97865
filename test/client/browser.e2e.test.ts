/** The client in a page of another origin, as it comes: no bundler, nothing but its types taken away. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import { test } from "node:test";
import { noBrowser, startBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { adminKey, startServer } from "../support/server.ts";

const root = new URL("../../", import.meta.url);

/** What the page does, as text: it is run over there. */
const program = `async ({ url, key }) => {
  const { createClient, NotFound } = await import("/src/sdk/client/index.ts");
  const bridle = createClient({ url, key });
  const { id } = await bridle.tasks.submit({ agent: "rehearsal", input: "ask Where to?\\nsay Done" });
  const asking = await bridle.tasks.wait(id);
  await bridle.tasks.answer(id, "Home");
  const events = [];
  for await (const { event } of bridle.tasks.events(id)) events.push(event);
  const { receipt_id, status } = await bridle.tasks.wait(id);
  const receipt = await bridle.receipts.get(receipt_id);
  const genuine = await bridle.receipts.verify(receipt);
  const forged = await bridle.receipts.verify({ ...receipt, issued_at: "2026-01-01T00:00:00Z" });
  const artifact = await bridle.artifacts.upload(new Blob(["from a page"], { type: "text/x-page" }));
  const { bytes, mimeType } = await bridle.artifacts.download(artifact.id);
  const error = await bridle.tasks.get("task_none").then(() => null, (e) => e instanceof NotFound && e.status);
  const content = new TextDecoder().decode(bytes);
  const session = await bridle.sessions.connect((await bridle.sessions.create()).id, {
    host: { "page.title": () => document.title },
  });
  const spoken = await session.say("host page.title\\nask And now?", { agent: "rehearsal" });
  const live = [];
  for await (const { event, resource } of session) {
    live.push(event);
    if (event === "task.input_required") await session.answer(spoken.id, "Off");
    if (event === "task.completed" && resource.id === spoken.id) break;
  }
  const said = await Array.fromAsync(bridle.sessions.allMessages(session.id));
  const heard = said.flatMap(({ parts }) => parts.map(({ text }) => text));
  await session.close();
  const lines = await Array.fromAsync(bridle.sessions.export(session.id));
  const notALog = async function* () { yield "{}"; };
  const refused = await bridle.sessions.import(notALog()).then(() => null, (e) => e.code);
  return { heard, refused, lines: lines.length > 3, asked: asking.status, status, last: events.at(-1), genuine, forged, content, mimeType, error };
}`;

test("CLT-10 the client works in a browser page as it does in Node", {
  skip: noBrowser,
}, async () => {
  // Given a page in a browser, when it uses the client, then tasks, events, sessions over WebSocket, files, errors and
  // receipts are as in Node.
  const pages = createServer(async (request, reply) => {
    const path = (request.url ?? "/").slice(1);
    if (!/^src\/[a-z0-9/-]+\.ts$/.test(path)) {
      reply.setHeader("content-type", "text/html").end("<!doctype html><title>A page</title>");
      return;
    }
    const code = stripTypeScriptTypes(await readFile(new URL(path, root), "utf8"));
    reply.setHeader("content-type", "text/javascript").end(code);
  });
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  const address = pages.address();
  const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  try {
    await using server = await startServer({ flags: ["--cors-origin", origin] });
    await using browser = await startBrowser();
    const page = await browser.newPage();
    await page.goto(origin);
    const input = JSON.stringify({ url: server.url, key: adminKey });
    const { genuine, forged, ...rest }: Json = await page.evaluate(`(${program})(${input})`);
    assert.deepEqual(rest, {
      heard: ["host page.title\nask And now?", 'Host page.title gave "A page"', "Off", "You said: Off"],
      lines: true,
      refused: "invalid_request",
      asked: "INPUT_REQUIRED",
      status: "COMPLETED",
      last: "receipt.issued",
      content: "from a page",
      mimeType: "text/x-page",
      error: 404,
    });
    assert.deepEqual([genuine.valid, genuine.reason, forged.valid], [true, null, false]);
  } finally {
    pages.close();
    pages.closeAllConnections();
  }
});

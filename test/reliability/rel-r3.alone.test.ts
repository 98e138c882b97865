/** REL-R3: who reads a long history does not hold the event loop, so everybody else is answered meanwhile. */

import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { after, before, test } from "node:test";
import { isThorough } from "../runner/seed.ts";
import { Client } from "../support/client.ts";
import { addMessages, addReceipts } from "../support/long-log.ts";
import { withoutStall } from "../support/loop-stall.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const messages = isThorough ? 1_000_000 : 30_000;
const receipts = isThorough ? 100_000 : 3_000;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestServer;
let client: Client;
let sessionId: string;
before(async () => {
  directory = await temporaryDirectory();
  const data = directory.path;
  {
    await using first = await startServer({ data });
    client = new Client(first);
    sessionId = (await client.createSession()).id;
    await client.append(sessionId, "hello");
    await client.rehearse(sessionId, "return well");
  }
  await addMessages(data, sessionId, messages);
  await addReceipts(data, receipts);
  server = await startServer({ data });
  client = new Client(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

/** Asks for a stream and counts how often something is in it, without work of its own, until there are enough or it ends. */
async function countIn(path: string, mark: string, enough = Number.POSITIVE_INFINITY): Promise<number> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${client.url}${path}`, { headers: client.headers() }, resolve).once("error", reject);
  });
  assert.equal(response.statusCode, 200);
  let count = 0;
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of response) {
    const found = Buffer.concat([rest, chunk]);
    for (let at = found.indexOf(mark); at !== -1; at = found.indexOf(mark, at + 1)) count += 1;
    if (count >= enough) break;
    // One that is cut in two by the end of a chunk.
    rest = found.subarray(found.length - Math.min(found.length, mark.length - 1));
  }
  return count;
}

test("REL-R3 a client that follows a long log from its beginning does not hold the event loop", async () => {
  const count = await withoutStall(() => countIn("/v1/events/stream", "event: user.message", messages));
  assert.ok(count >= messages);
});

test("REL-R3 an export of many receipts does not hold the event loop", async () => {
  const path = "/v1/workspaces/workspace_default/receipts/export";
  assert.ok((await withoutStall(() => countIn(path, "\n"))) > receipts);
});

test("REL-R3 an export of a long session does not hold the event loop", async () => {
  assert.ok((await withoutStall(() => countIn(`/v1/sessions/${sessionId}/export`, "\n"))) > messages);
});

test("REL-R3 a chat of a long session begins with its end and does not hold the event loop", async () => {
  const { body } = await withoutStall(() => client.get(`/v1/sessions/${sessionId}/ui`));
  assert.equal(body.messages.length, 500);
  const { data } = (await client.get(`/v1/sessions/${sessionId}/messages?limit=1`)).body;
  assert.notEqual(body.messages[0].id, data[0].id);
});

test("REL-R3 compaction of a long session does not hold the event loop", async () => {
  const { body } = await withoutStall(() =>
    client.post(`/v1/sessions/${sessionId}/compact`, { keep_last: 1 }),
  );
  assert.ok(body.compacted_turn_count >= messages - 1);
});

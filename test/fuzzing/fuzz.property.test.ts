/** Sequences of requests to all surfaces, by the grammar of the API's description: no 5xx, no hang, no stall of the event loop. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isThorough, randomFrom } from "../runner/seed.ts";
import { Client, userMessage } from "../support/client.ts";
import { measureStall } from "../support/loop-stall.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { openSession } from "../support/socket.ts";
import { found } from "./found.ts";
import { changed, pick } from "./grammar.ts";
import { fire, type Shot, Surfaces } from "./surfaces.ts";

const requests = isThorough ? 20_000 : 500;
const warmUp = 60;
/** At the same time: what comes between the steps of a request is others' requests. */
const parallel = 4;
/** Answers of our own about something else that is away, and what is not supported here. */
const honest = new Set([501, 503, 507]);

let server: TestServer;
let client: Client;
before(async () => {
  server = await startServer({ flags: ["--rate-limit", "off"] });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function assertAnswered(shot: Shot): Promise<string> {
  const sent = `${shot.method} ${shot.path} ${JSON.stringify(shot.headers)} ${shot.body?.slice(0, 2000) ?? ""}`;
  const { status, text } = await fire(client, shot).catch((error: Error) => {
    throw new Error(`no answer to ${sent}`, { cause: error });
  });
  assert.ok(status < 500 || honest.has(status), `${status} to ${sent}: ${text.slice(0, 500)}`);
  return text;
}

test("FUZ-1 sequences of valid and changed requests to all surfaces are answered, none with a 5xx", async (t) => {
  const { body: document } = await client.get("/openapi.json");
  const surfaces = new Surfaces(document, randomFrom());
  let left = requests;
  const sender = async () => {
    while (left-- > 0) surfaces.learn(await assertAnswered(surfaces.next()));
  };
  // What is loaded with its first use is loaded.
  for (let n = 0; n < warmUp; n++) surfaces.learn(await assertAnswered(surfaces.next()));
  const { longestMs, budgetMs } = await measureStall(() =>
    Promise.all(Array.from({ length: parallel }, sender)),
  );
  assert.equal((await client.get("/health")).status, 200);
  // A sample on a busy machine says little about one turn.
  if (isThorough) assert.ok(longestMs <= budgetMs, `a turn of ${longestMs} ms, budget ${budgetMs} ms`);
  t.diagnostic(`${requests} requests, longest turn ${longestMs.toFixed(0)} ms`);
});

const frames = [
  { type: "hello" },
  { type: "ping" },
  { type: "task.submit", persona_id: "persona_echo", input: userMessage("hello") },
  { type: "message.append", message: userMessage("hello") },
  { type: "task.cancel", task_id: "task_00000000000000000000000000" },
  { type: "input.submit", task_id: "task_00000000000000000000000000", message: userMessage("yes") },
  { type: "approval.respond", request_id: "perm_00000000000000000000000000", decision: "approved" },
  { type: "host.result", call_id: "call", output: { a: 1 } },
  { type: "session.truncate", keep_first: 0 },
];

test("FUZ-1 sequences of changed frames over a WebSocket are answered, none as a fault of the server", async () => {
  const random = randomFrom();
  // What the others have sent may have changed quotas and personas.
  await using own = await startServer();
  const client = new Client(own);
  const session = await client.createSession();
  for (let n = 0; n < requests / 25; n++) {
    await using socket = await openSession(client, session.id);
    for (let sent = 0; sent < 10 && socket.socket.readyState === socket.socket.OPEN; sent++) {
      const frame = { id: `f${sent}`, ...pick(random, frames) };
      socket.send(JSON.stringify(random() < 0.6 ? changed(frame, random) : frame) ?? "");
    }
    // Frames are answered in order, unless one of them ended the connection.
    await Promise.race([socket.ask({ type: "ping" }).catch(() => {}), socket.closed]);
    const faults = socket.seen.filter(({ error }) => error?.code === "internal_error");
    assert.deepEqual(faults, []);
  }
  assert.equal((await client.get("/health")).status, 200);
});

test("FUZ-2 requests that were answered wrongly once are not any more", async () => {
  for (const shot of found) await assertAnswered(shot);
});

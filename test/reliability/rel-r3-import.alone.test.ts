/** REL-R3: a long log that is taken over does not hold the event loop, and is taken over whole or not at all. */

import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { createIds } from "../../src/kernel/core/ids.ts";
import { Client, type Json } from "../support/client.ts";
import { exportOf, Log, sha256Of } from "../support/exported-log.ts";
import { assertRebuildable } from "../support/log.ts";
import { withoutStall } from "../support/loop-stall.ts";
import { createPersona } from "../support/policy.ts";
import { startProcess, startServer, temporaryDirectory } from "../support/server.ts";

const pieceChars = 64 * 1024;

const newId = createIds(Date.now);

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
/** The lines of a session in which one task has ended. */
let lines: string[];
let sessionId: string;
before(async () => {
  directory = await temporaryDirectory();
  await using server = await startServer({ data: dataOf("from") });
  const client = new Client(server);
  const persona = await createPersona(client, { entry_workflow: "rehearsal", receipt_policy: "disabled" });
  sessionId = (await client.createSession()).id;
  const script = "step a\nartifact note.txt hello\nsay hello\nreturn well";
  const task = await client.submit(sessionId, script, { persona_id: persona.id });
  await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
  lines = (await exportOf(client, sessionId)).trimEnd().split("\n");
});
after(async () => await directory[Symbol.asyncDispose]());

function dataOf(name: string): string {
  return join(directory.path, name);
}

/** The log of one session in which the same happens again and again, under other ids. */
function longLog(eventsMin: number): string[] {
  const [header = "", session = "", ...rest] = lines;
  const long = [header, session];
  while (long.length <= eventsMin) {
    const ids = new Map<string, string>();
    const renamed = (id: string, prefix: string) => {
      const known = ids.get(id) ?? newId(prefix);
      ids.set(id, known);
      return known;
    };
    // Content once.
    const events = rest.slice(0, -1).filter((line) => long.length === 2 || !line.startsWith('{"blob"'));
    long.push(...events.map((line) => line.replace(/\b(task|msg|artifact)_[0-9A-Z]{26}/g, renamed)));
  }
  return ended(long);
}

function ended(log: readonly string[]): string[] {
  const events = log.filter((line) => line.startsWith('{"event"')).length;
  return [...log, JSON.stringify({ end: { events } })];
}

async function send(client: Client, log: readonly string[]): Promise<{ status?: number; body: Json }> {
  const headers = client.headers({ "content-type": "application/jsonl" });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(`${client.url}/v1/sessions/import`, { method: "POST", headers }, resolve);
    sent.once("error", reject);
    Readable.from(piecesOf(log)).pipe(sent);
  });
  return { status: response.statusCode ?? 0, body: await json(response) };
}

/** As it would come over a network, and not in one piece. */
function* piecesOf(log: readonly string[]): Generator<string> {
  let begun = "";
  for (const line of log) {
    for (let start = 0; start < line.length; start += pieceChars) {
      begun += line.slice(start, start + pieceChars);
      if (begun.length < pieceChars) continue;
      yield begun;
      begun = "";
    }
    begun += "\n";
  }
  yield begun;
}

test("REL-R3 the import of a long session does not hold the event loop, and leaves out nothing", async () => {
  const log = longLog(60_000);
  await using server = await startServer({ data: dataOf("to") });
  const client = new Client(server);
  const { status, body } = await withoutStall(() => send(client, log));
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual((await exportOf(client, sessionId)).trimEnd().split("\n"), log);
});

test("REL-R3 the import of large content does not hold the event loop", async () => {
  const piece = Buffer.alloc(3 * 1024 * 1024, "what a file may say: nothing much. ");
  const count = 20;
  const bytes = Buffer.concat(Array.from({ length: count }, () => piece));
  const sha256 = sha256Of(bytes);
  const log = new Log(lines.join("\n"));
  const { artifact } = log.event("artifact.created").payload;
  const at = log.lines.findIndex(({ blob }) => blob !== undefined);
  assert.equal(log.lines[at].blob.sha256, artifact.blob);
  const pieces = Array.from({ length: count }, (_, n) => ({
    blob: { sha256, base64: piece.toString("base64"), ...(n < count - 1 ? { more: true } : {}) },
  }));
  log.lines.splice(at, 1, ...pieces);
  Object.assign(artifact, { sha256, blob: sha256, bytes: bytes.length });
  await using server = await startServer({ data: dataOf("content") });
  const client = new Client(server);
  const text = log.text().trimEnd().split("\n");
  const { status, body } = await withoutStall(() => send(client, text));
  assert.equal(status, 201, JSON.stringify(body));
  const response = await fetch(`${client.url}/v1/artifacts/${artifact.id}/content`, {
    headers: client.headers(),
  });
  assert.equal(sha256Of(Buffer.from(await response.arrayBuffer())), sha256);
});

test("REL-R3 nothing is imported of a long session in whose end an id is in use already", async () => {
  await using server = await startServer({ data: dataOf("taken") });
  const client = new Client(server);
  const own = longLog(10);
  assert.equal((await send(client, own)).status, 201);
  const other = ended([...longLog(5000).slice(0, -1), ...own.slice(2, -1)]);
  const otherId = newId("session");
  const events = async () => (await client.listAll("/v1/events")).length;
  const before = await events();
  const { status, body } = await send(
    client,
    other.map((line) => line.replaceAll(sessionId, otherId)),
  );
  assert.equal(status, 409, JSON.stringify(body));
  assert.match(body.error.message, /in use already/);
  assert.equal(await events(), before);
  assert.equal((await client.get(`/v1/sessions/${otherId}`)).status, 404);
});

test("REL-R3 a server that dies while it takes over a long session has nothing of it or all", async () => {
  const log = longLog(5000);
  for (const [point, status] of [
    ["commit.written:1", 404],
    ["commit.durable:1", 200],
  ] as const) {
    const data = dataOf(point);
    await (await startServer({ data })).stop();
    const dying = await startProcess({ data, env: { BRIDLE_FAIL_POINT: point } });
    await assert.rejects(send(new Client(dying), log));
    await assertRebuildable(data);
    await using server = await startServer({ data });
    const client = new Client(server);
    assert.equal((await client.get(`/v1/sessions/${sessionId}`)).status, status);
    const { data: tasks } = (await client.get("/v1/tasks?limit=1")).body;
    assert.equal(tasks.length, status === 200 ? 1 : 0);
    if (status === 200) assert.deepEqual((await exportOf(client, sessionId)).trimEnd().split("\n"), log);
    else assert.equal((await send(client, log)).status, 201);
  }
});

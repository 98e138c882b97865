/** Erasure on request: the content is gone from every file, the structure and the receipts stay. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { filesWith } from "./support/canaries.ts";
import { Client, errorOf, isFinal, type Json, until, userMessage } from "./support/client.ts";
import { assertRebuildable } from "./support/log.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "./support/server.ts";
import { openStream, take } from "./support/sse.ts";

const canary = "canary7f3a";
const other = "bystander91c";
const running = "canary5bd2";
const large = `${canary} `.repeat(2000);
const chunk = `${canary}chunk `.repeat(900);

/** A session with the canary wherever content can be, but for what receipts quote. */
async function fullSession(client: Client, word = canary): Promise<Json> {
  const session = await client.createSession({
    initial_messages: [
      userMessage(`${word} first`),
      { ...userMessage(word), role: "system", metadata: { m: word } },
    ],
    metadata: { note: word },
  });
  const { id } = session;
  const text = word === canary ? large : `${word} `.repeat(2000);
  await client.call(`/v1/sessions/${id}`, { method: "PATCH", body: { summary: `${word} summary` } });
  await client.post(
    `/v1/sessions/${id}/messages`,
    { message: userMessage(text) },
    { "idempotency-key": `append-${word}-${id}` },
  );
  await client.post(`/v1/sessions/${id}/branches`, { kind: "sandbox", base_ref: word });
  await client.post("/v1/artifacts", {
    kind: "file",
    mime_type: "text/plain",
    visibility: "public",
    session_id: id,
    uri: `https://example.test/${word}`,
    metadata: { word },
  });
  await client.post("/v1/memories", memoryOf("session", id, word), {
    "idempotency-key": `memory-${word}-${id}`,
  });
  await upload(client, `session_id=${id}&name=${word}.bin`, word);
  await client.rehearse(
    id,
    `say ${word}`,
    `say ${text}`,
    `artifact ${word}.txt ${word === canary ? chunk : text}`,
    "stream 3",
    `return ${word}`,
  );
  const asked = await client.rehearse(id, `ask ${word}?`, `return ${word}`);
  await client.answer(asked.id, `${word} answer`);
  await client.untilTask(asked.id, isFinal);
  await client.post(
    "/v1/tasks",
    { session_id: id, input: { text: word, data: { word, text } }, metadata: { word } },
    { prefer: "wait=30", "idempotency-key": `submit-${word}-${id}` },
  );
  await client.post(`/v1/sessions/${id}/compact`, { keep_last: 2, summary: `${word} compacted` });
  return session;
}

function memoryOf(scope: string, owner_id: string, word: string): object {
  return { scope, owner_id, content: { said: `${word} remembered` }, provenance: { from: word } };
}

/** More than the database keeps in itself. */
async function upload(client: Client, query: string, word: string): Promise<void> {
  const { status } = await client.call(`/v1/artifacts/upload?kind=file&visibility=public&${query}`, {
    method: "POST",
    raw: `${word} uploaded `.repeat(10_000),
    headers: { "content-type": "application/octet-stream" },
  });
  assert.equal(status, 201);
}

async function structureOf(client: Client, id: string): Promise<Json[]> {
  const events = await client.listAll(`/v1/sessions/${id}/events`);
  return events.map(({ payload: _, replay: __, ...rest }) => rest);
}

async function assertReceiptsVerify(client: Client): Promise<number> {
  const receipts = await client.listAll("/v1/receipts");
  for (const { receipt_id } of receipts) {
    const { body } = await client.post(`/v1/receipts/${receipt_id}/verify`);
    assert.equal(body.valid, true, JSON.stringify(body));
    const proof = await client.get(`/v1/receipts/${receipt_id}/proof`);
    assert.equal(proof.status, 200);
  }
  return receipts.length;
}

describe("erasing a session", () => {
  test("ERA-1 ERA-2 ERA-3 erasing a session purges its content, keeps receipts and spares others", async () => {
    // Given sessions full of content, when one is erased, then no file holds it, the structure and the receipts stay,
    // and the others are whole.
    await using directory = await temporaryDirectory();
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    const { id } = await fullSession(client);
    const neighbour = await fullSession(client, other);
    const waiting = await client.rehearse(id, `ask ${canary}?`);
    await client.post(`/v1/tasks/${waiting.id}/cancel`, { reason: canary });
    const before = await structureOf(client, id);
    const sample = await client.get(`/v1/events/${before[1].id}`);
    assert.ok(filesWith(directory.path, canary).length > 0, "the search finds what is there");
    const verified = await assertReceiptsVerify(client);
    assert.ok(verified > 3);
    const neighbourEvents = await client.listAll(`/v1/sessions/${neighbour.id}/events`);

    const { status, body } = await client.post(`/v1/sessions/${id}/erase`, { reason: "asked by letter" });

    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.state, "CLOSED");
    assert.equal(body.erasure.reason, "asked by letter");
    assert.ok(body.erasure.erased_at !== null);
    assert.deepEqual(filesWith(directory.path, canary), []);
    assert.ok(filesWith(directory.path, other).length > 0);

    const after = await structureOf(client, id);
    assert.deepEqual(after.slice(0, before.length), before, "ids, kinds, order, actors and times stay");
    assert.deepEqual(
      // Each artifact is told of once.
      [...new Set(after.slice(before.length).map(({ event }) => event))].filter(
        (event) => !event.startsWith("receipt."),
      ),
      ["vendor.bridle.session.erasure_requested", "artifact.redacted", "vendor.bridle.session.erased"],
    );
    assert.ok(!JSON.stringify(await client.listAll(`/v1/sessions/${id}/events`)).includes(canary));
    const erased = await client.get(`/v1/events/${before[1].id}`);
    const [part] = erased.body.payload.message.parts;
    assert.equal(part.redacted, true);
    assert.equal(part.type, "text");
    assert.match(part.sha256, /^[0-9a-f]{64}$/);
    assert.notDeepEqual(sample.body, erased.body);
    for (const list of ["messages", "branches"]) {
      const items = await client.listAll(`/v1/sessions/${id}/${list}`);
      assert.ok(items.length > 0);
      assert.ok(!JSON.stringify(items).includes(canary));
    }
    for (const task of await client.listAll(`/v1/tasks?session_id=${id}`)) {
      assert.ok(!JSON.stringify(task).includes(canary));
      const outcome = await client.get(`/v1/outcomes/${task.outcome_id}`);
      assert.equal(outcome.status, 200);
      assert.ok(!JSON.stringify(outcome.body).includes(canary));
    }
    for (const artifact of await client.listAll(`/v1/artifacts?session_id=${id}`)) {
      assert.ok(!JSON.stringify(artifact).includes(canary));
      assert.ok([404, 409, 410].includes((await client.get(`/v1/artifacts/${artifact.id}/content`)).status));
    }
    assert.deepEqual(await client.listAll(`/v1/sessions/${neighbour.id}/events`), neighbourEvents);
    assert.equal(await assertReceiptsVerify(client), verified);

    const again = await client.post(`/v1/sessions/${id}/erase`);
    assert.equal(again.status, 200);
    assert.equal(again.body.erasure.erased_at, body.erasure.erased_at);

    assert.equal(await server.stop(), 0);
    assert.deepEqual(filesWith(directory.path, canary), []);
    await assertRebuildable(directory.path);
  });
});

describe("around an erasure", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  test("ERA-2 content shared by two sessions survives the erasure of one", async () => {
    // Given content that two sessions share, when one is erased, then the other still has it.
    const shared = "shared ".repeat(2000);
    const [one, two] = [await client.createSession(), await client.createSession()];
    for (const { id } of [one, two]) {
      await client.post(`/v1/sessions/${id}/messages`, { message: userMessage(shared) });
    }
    await client.post(`/v1/sessions/${one.id}/erase`);
    assert.deepEqual(await client.texts(two.id), [shared]);
    await client.post(`/v1/sessions/${two.id}/erase`);
    const [message] = await client.listAll(`/v1/sessions/${two.id}/messages`);
    assert.equal(message.parts[0].redacted, true);
    assert.deepEqual(filesWith(server.data, shared), []);
  });

  test("ERA-2 a request repeated after the erasure gets the erased record", async () => {
    // Given an answer kept for a repeated request, when the session is erased, then the repetition gives the erased
    // record.
    const { id } = await client.createSession();
    const send = () =>
      client.post(
        `/v1/sessions/${id}/messages`,
        { message: { ...userMessage(canary), metadata: { canary } } },
        { "idempotency-key": "once" },
      );
    const first = await send();
    await client.post(`/v1/sessions/${id}/erase`);
    const second = await send();
    assert.equal(second.headers.get("idempotent-replayed"), "true");
    assert.equal(second.body.id, first.body.id);
    assert.ok(!JSON.stringify(second.body).includes(canary));
  });

  test("ERA-4 erasing a session cancels its tasks, takes nothing new and sends nothing out", async () => {
    // Given tasks that run and wait, when the session is erased, then they are canceled, nothing new comes in, and
    // nothing goes out.
    const { id } = await client.createSession();
    const done = await client.rehearse(id, "return fine");
    const waiting = await client.rehearse(id, `ask ${running}?`);
    const sleeping = await client.submit(id, `say ${running}\nsleep 600000`, {
      persona_id: "persona_rehearsal",
    });
    await client.untilTask(sleeping.id, ({ waiting_for }) => waiting_for !== null);
    const { status } = await client.post(`/v1/sessions/${id}/erase`);
    assert.equal(status, 200);
    for (const task of [waiting, sleeping]) {
      assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.status, "CANCELED");
    }
    assert.deepEqual(filesWith(server.data, running), []);
    errorOf(await client.post("/v1/tasks", { session_id: id, input: userMessage("more") }), 409);
    errorOf(await client.post(`/v1/sessions/${id}/messages`, { message: userMessage("more") }), 409);
    errorOf(await client.call(`/v1/sessions/${id}`, { method: "PATCH", body: { summary: "more" } }), 409);
    const artifact = { kind: "file", mime_type: "text/plain", visibility: "public", session_id: id };
    errorOf(await client.post("/v1/artifacts", artifact), 409);
    errorOf(await client.get(`/v1/sessions/${id}/export`), 409);
    errorOf(await client.get(`/v1/tasks/${done.id}/export`), 409);
    const replay = errorOf(await client.post(`/v1/tasks/${done.id}/replay`, { mode: "exact" }), 422);
    assert.equal(replay.details.reason, "replay_dependency_unavailable");
    assert.equal(replay.details.dependency.kind, "message");
  });

  test("ERA-4 an open stream goes on with descriptors only after its session is erased", async () => {
    // Given an open stream of the session, when it is erased, then the stream goes on with descriptors only.
    const { id } = await client.createSession();
    await client.rehearse(id, `say ${canary}`);
    const { last_event_id } = (await client.get(`/v1/sessions/${id}`)).body;
    await using stream = await openStream(client, `/v1/sessions/${id}/events/stream`, {
      "last-event-id": last_event_id,
    });
    await client.post(`/v1/sessions/${id}/erase`);
    const seen = await take(stream.frames, ({ event }) => event === "vendor.bridle.session.erased");
    assert.ok(seen.length > 1);
    assert.ok(!JSON.stringify(seen).includes(canary));
  });

  test("ERA-5 keys without admin or of other tenants and workspaces cannot erase anything", async () => {
    // Given keys without admin, of other tenants and workspaces, when they ask for erasure, then they are refused and
    // nothing is erased.
    const { id } = await client.createSession({ initial_messages: [userMessage("stays")] });
    const writer = await client.withScopes("sessions:write", "sessions:read");
    errorOf(await writer.post(`/v1/sessions/${id}/erase`), 403);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    errorOf(await stranger.post(`/v1/sessions/${id}/erase`), 404);
    const { body: workspace } = await client.post("/v1/workspaces", { name: "Second", root: "/srv/second" });
    const bound = client.as((await client.createKey({ workspace_ids: [workspace.id] })).key);
    errorOf(await bound.post(`/v1/sessions/${id}/erase`), 404);
    assert.equal(errorOf(await client.post(`/v1/sessions/${id}/erase`, { reason: 5 }), 400).param, "reason");
    assert.deepEqual(await client.texts(id), ["stays"]);
  });
});

test("ERA-2 an erasure interrupted by a crash is finished after the restart", async () => {
  // Given a process that is killed in the middle of an erasure, when it starts again, then the erasure is finished.
  await using directory = await temporaryDirectory();
  const doomed: { point: string; word: string; id: string }[] = [];
  {
    await using server = await startServer({ data: directory.path });
    for (const point of ["commit.written:4", "blobs.dropped:1"]) {
      const word = `killed${doomed.length}7f3a`;
      doomed.push({ point, word, id: (await fullSession(new Client(server), word)).id });
    }
    assert.equal(await server.stop(), 0);
  }
  for (const { point, word, id } of doomed) {
    {
      await using server = await startProcess({ data: directory.path, env: { BRIDLE_FAIL_POINT: point } });
      const died = new Promise((resolve) => server.process.once("exit", resolve));
      await assert.rejects(new Client(server).post(`/v1/sessions/${id}/erase`), `it dies at ${point}`);
      await died;
    }
    await assertRebuildable(directory.path);
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    await until(
      async () => (await client.get(`/v1/sessions/${id}`)).body,
      ({ erasure }) => erasure !== null && erasure.erased_at !== null,
    );
    assert.deepEqual(filesWith(directory.path, word), [], point);
    assert.equal(await server.stop(), 0);
  }
  await assertRebuildable(directory.path);
});

describe("erasing a tenant", () => {
  test("ERA-1 ERA-2 ERA-3 ERA-5 erasing a tenant leaves others whole and the erased one usable", async () => {
    // Given two tenants, when one is erased by whoever runs the server, then its sessions and loose artifacts are
    // erased, the other tenant is whole, and the erased one can go on.
    await using directory = await temporaryDirectory();
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    const theirs = client.as((await client.createKey({ tenant_id: "tenant_b" })).key);
    const workspace_id = "workspace_default.tenant_b";
    const persona_id = "persona_rehearsal.tenant_b";
    for (const word of [`${canary} one`, `${canary} two`]) {
      const { body } = await theirs.post("/v1/sessions", { workspace_id, metadata: { word } });
      const input = userMessage(`say ${word}`);
      const task = await theirs.post(
        "/v1/tasks",
        { session_id: body.id, persona_id, input },
        { prefer: "wait=30" },
      );
      assert.equal(task.body.status, "COMPLETED", JSON.stringify(task.body));
    }
    await theirs.post(
      "/v1/artifacts",
      { kind: "file", mime_type: "text/plain", visibility: "public", uri: `https://example.test/${canary}` },
      { "idempotency-key": "loose" },
    );
    await theirs.post("/v1/memories", memoryOf("workspace", workspace_id, canary));
    await upload(theirs, "name=loose.bin", canary);
    const file = { method: "PUT", body: { path: "notes.txt", content: `${canary} in a file` } };
    assert.equal((await theirs.call(`/v1/workspaces/${workspace_id}/files`, file)).status, 200);
    const { id } = await fullSession(client, other);
    const before = await client.texts(id);

    const stranger = client.as((await client.createKey({ tenant_id: "tenant_c" })).key);
    errorOf(await stranger.post("/v1/tenants/tenant_b/erase"), 404);
    errorOf(await client.post("/v1/tenants/tenant_nobody/erase"), 404);
    errorOf(await (await client.withScopes("sessions:write")).post("/v1/tenants/tenant_default/erase"), 403);
    assert.ok(filesWith(directory.path, canary).length > 0);

    const { status, body } = await client.post("/v1/tenants/tenant_b/erase", { reason: "contract ended" });

    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(body.erasure.erased_at !== null);
    assert.deepEqual(filesWith(directory.path, canary), []);
    for (const session of await theirs.listAll("/v1/sessions")) assert.ok(session.erasure.erased_at !== null);
    assert.equal(await assertReceiptsVerify(theirs), 2);
    assert.deepEqual(await client.texts(id), before);
    const fresh = await theirs.post("/v1/sessions", { workspace_id });
    assert.equal(fresh.status, 201);
    assert.equal(
      (await theirs.post("/v1/tenants/tenant_b/erase")).status,
      200,
      "its own administrator may too",
    );
    assert.equal(await server.stop(), 0);
    await assertRebuildable(directory.path);
  });
});

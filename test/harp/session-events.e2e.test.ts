/** Events about sessions of agents, told to a real server: kept once, in any order, until the end, and erased on request. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { snapshotBytesMax } from "../../src/harp/core/session.ts";
import { filesWith } from "../support/canaries.ts";
import { type Answer, Client, errorOf, type Json } from "../support/client.ts";
import { assertRebuildable } from "../support/log.ts";
import { harpCall, harpErrorOf, readSession, snapshotOf, tell } from "../support/prompts.ts";
import { startProcess, startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const published = {
  sessionId: "01J2V8V3M2YF0KX9Q0Z7E6H9R1",
  eventType: "session.snapshot",
  snapshotId: "snap-001",
  snapshotType: "summary",
  createdAt: "2026-02-21T12:02:00Z",
  payload: {
    summary: "Parser refactor planned. Medium risk due to grammar changes.",
    filesAffected: ["parser.py", "lexer.py"],
  },
  snapshotHashAlg: "SHA-256",
  snapshotHash: "5145a558f7390a66768c6da0195f12484bb1f01c44b8bc33518733970ac06e5d",
};

function eventsOf(sessionId: string) {
  return {
    start: { sessionId, eventType: "session.start", createdAt: "2026-02-21T12:00:00Z", agentHost: "host-1" },
    planning: {
      sessionId,
      eventType: "session.status",
      state: "planning",
      updatedAt: "2026-02-21T12:01:00Z",
    },
    editing: { sessionId, eventType: "session.status", state: "editing", updatedAt: "2026-02-21T12:03:00Z" },
    end: { sessionId, eventType: "session.end", endedAt: "2026-02-21T12:09:00Z", reason: "user_end" },
  };
}

function assertTold(answer: Answer, duplicate = false): void {
  assert.equal(answer.status, 202, JSON.stringify(answer.body));
  assert.deepEqual(answer.body, { accepted: true, duplicate });
}

describe("session events", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await startServer();
    client = new Client(server);
  });
  after(() => server[Symbol.asyncDispose]());

  async function known(sessionId: string, as = client): Promise<Json> {
    const { status, body } = await readSession(as, sessionId);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  test("HARP-114, HARP-118 the published snapshot passes its hash check and is stored once", async () => {
    // Given the published snapshot, when it is told again and again, then its hash is right and there is one record.
    assertTold(await tell(client, published));
    for (let n = 0; n < 3; n++) assertTold(await tell(client, published), true);
    const { snapshotId, snapshotType, createdAt, snapshotHash } = published;
    assert.deepEqual(await known(published.sessionId), {
      sessionId: published.sessionId,
      start: null,
      status: null,
      snapshots: [{ snapshotId, snapshotType, createdAt, snapshotHash }],
      end: null,
    });
    const other = await snapshotOf(published.sessionId, { snapshotId });
    harpErrorOf(await tell(client, other), 409, "HARP_SESSION_ERR_DUPLICATE_SNAPSHOT");
    assert.equal((await known(published.sessionId)).snapshots.length, 1);
  });

  test("HARP-118 concurrent copies of one snapshot count as new only once", async () => {
    // Given one snapshot told many times at once, when all are answered, then one was new.
    const sessionId = randomUUID();
    const snapshot = await snapshotOf(sessionId, { payload: { text: "x".repeat(100_000) } });
    const answers = await Promise.all(Array.from({ length: 8 }, () => tell(client, snapshot)));
    assert.deepEqual(
      answers.map(({ body }) => body.duplicate).sort(),
      [false, ...Array.from({ length: 7 }, () => true)].sort(),
    );
    assert.equal((await known(sessionId)).snapshots.length, 1);
  });

  test("HARP-119 given a snapshot whose hash is wrong, when it is told, then it is nowhere", async () => {
    const sessionId = randomUUID();
    const snapshot = await snapshotOf(sessionId, { payload: { word: "canary0c5f" } });
    const wrong = { ...snapshot, snapshotHash: "0".repeat(64) };
    const changed = { ...snapshot, metadata: { more: true } };
    for (const each of [wrong, changed]) {
      harpErrorOf(await tell(client, each), 422, "HARP_ERR_HASH_MISMATCH");
    }
    harpErrorOf(await readSession(client, sessionId), 404);
    assert.deepEqual(filesWith(server.data, "canary0c5f"), []);
  });

  test("HARP-119 untyped or unknown events and a second start are rejected without effect", async () => {
    // Given events without a type, of unknown states, types and reasons, or a second start, when they are told, then
    // they are refused and change nothing.
    const sessionId = randomUUID();
    const { start, planning, end } = eventsOf(sessionId);
    assertTold(await tell(client, start));
    assertTold(await tell(client, start), true);
    const before = await known(sessionId);
    const second = { ...start, agentHost: "host-2" };
    harpErrorOf(await tell(client, second), 409, "HARP_SESSION_ERR_INVALID_STATE");
    harpErrorOf(await tell(client, { ...planning, state: "asleep" }), 400, "HARP_SESSION_ERR_INVALID_STATE");
    const { eventType: _, ...untyped } = planning;
    const snapshot = await snapshotOf(sessionId);
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const refused: (object | string)[] = [
      untyped,
      { ...planning, eventType: "session.paused" },
      { ...snapshot, snapshotType: "novel" },
      { ...snapshot, snapshotHashAlg: "MD5" },
      { ...end, reason: "bored" },
      { ...end, extra: 1 },
      { ...planning, updatedAt: future },
      { ...end, endedAt: future },
      { ...planning, sessionId: "" },
      { ...planning, details: { half: 0.5 }, state: 7 },
      "[]",
      "null",
      JSON.stringify(planning).slice(0, -1),
      JSON.stringify(planning).replace("{", '{"state":"idle",'),
    ];
    for (const event of refused) harpErrorOf(await tell(client, event), 400);
    const large = { ...planning, details: { text: "x".repeat(70_000) } };
    assert.equal(harpErrorOf(await tell(client, large), 413).code, "PayloadTooLarge");
    const huge = await snapshotOf(sessionId, { payload: { text: "x".repeat(snapshotBytesMax) } });
    harpErrorOf(await tell(client, huge), 413);
    const secret = { ...planning, details: { password: "correct horse battery" } };
    harpErrorOf(await tell(client, secret), 403, "HARP_ERR_POLICY_DENY");
    assert.deepEqual(await known(sessionId), before);
  });

  test("HARP-120 out-of-order events are ordered by their times; none is added after the end", async () => {
    // Given events that come in the wrong order, when the last has come, then the session is as its own times say, and
    // after its end nothing is added.
    const sessionId = randomUUID();
    const { start, planning, editing, end } = eventsOf(sessionId);
    const snapshot = await snapshotOf(sessionId);
    for (const event of [snapshot, editing, planning, start]) assertTold(await tell(client, event));
    const open = await known(sessionId);
    assert.deepEqual([open.start, open.status, open.end], [start, editing, null]);
    assertTold(await tell(client, end));
    const closed = await known(sessionId);
    assert.deepEqual(closed, { ...open, end });
    for (const event of [snapshot, editing, start, end, await snapshotOf(sessionId)]) {
      const { code } = harpErrorOf(await tell(client, event), 409, "HARP_SESSION_ERR_SESSION_CLOSED");
      assert.equal(code, "InvalidStateConflict");
    }
    assert.deepEqual(await known(sessionId), closed);
  });

  test("HARP-102 keys of other purposes, tenants and workspaces neither report nor read sessions", async () => {
    // Given keys for other things, other tenants and workspaces, when they tell and read, then they meet nothing of this
    // tenant.
    const sessionId = randomUUID();
    const { start, end } = eventsOf(sessionId);
    assertTold(await tell(client, start));
    const reader = await client.withScopes("sessions:read");
    assert.deepEqual((await known(sessionId, reader)).start, start);
    for (const scopes of [["harp:approver:ann"], ["sessions:read"], ["tasks:write"]]) {
      harpErrorOf(await tell(await client.withScopes(...scopes), end), 403);
    }
    harpErrorOf(await readSession(await client.withScopes("harp:approver:ann"), sessionId), 403);
    harpErrorOf(await harpCall(client, "/v1/session/event", "{", { key: null }), 401);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    assert.equal(harpErrorOf(await readSession(stranger, sessionId), 404).code, "SessionNotFound");
    assertTold(await tell(stranger, { ...start, agentHost: "elsewhere" }));
    assertTold(await tell(stranger, end));
    assert.equal((await known(sessionId)).end, null, "theirs is another session of the same name");
    const bound = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    harpErrorOf(await tell(bound, end), 403);
    harpErrorOf(await readSession(bound, sessionId), 404);
  });
});

test("HARP-118, HARP-120 reported sessions survive a kill and repeated reports", async () => {
  // Given sessions that were told of, when the server is killed and told again, then they are known as before.
  await using directory = await temporaryDirectory();
  const sessionId = randomUUID();
  const { start, editing, end } = eventsOf(sessionId);
  const snapshot = await snapshotOf(sessionId, { payload: { text: "large ".repeat(5000) } });
  {
    await using server = await startProcess({ data: directory.path });
    const client = new Client(server);
    for (const event of [start, editing, snapshot]) assertTold(await tell(client, event));
    await server.kill();
  }
  {
    await using server = await startServer({ data: directory.path });
    const client = new Client(server);
    for (const event of [start, editing, snapshot]) assertTold(await tell(client, event), true);
    assertTold(await tell(client, end));
    const { body } = await readSession(client, sessionId);
    assert.deepEqual([body.start, body.status, body.end], [start, editing, end]);
    assert.equal(body.snapshots.length, 1);
    assert.equal(await server.stop(), 0);
  }
  await assertRebuildable(directory.path);
});

test("erasing a tenant during reports leaves none of its content and the other tenant intact", async () => {
  // Given sessions of two tenants that are told of, when one tenant is erased meanwhile, then nothing of its content is
  // left in any file, and the other is whole.
  await using directory = await temporaryDirectory();
  const canary = "canary93be";
  const sessionId = randomUUID();
  const { start, planning } = eventsOf(sessionId);
  const told = async () => [
    { ...start, agentHost: canary, metadata: { note: canary } },
    { ...planning, details: { text: `${canary} `.repeat(900) } },
    await snapshotOf(sessionId, { payload: { text: `${canary} `.repeat(20_000) } }),
    await snapshotOf(sessionId, { payload: { word: canary }, metadata: { canary } }),
  ];
  await using server = await startServer({ data: directory.path });
  const client = new Client(server);
  const theirs = client.as((await client.createKey({ tenant_id: "tenant_b" })).key);
  for (const event of await told()) assertTold(await tell(theirs, event));
  const kept = await snapshotOf(sessionId, { payload: { text: "bystander ".repeat(20_000) } });
  for (const teller of [client, theirs]) assertTold(await tell(teller, kept));
  assert.ok(filesWith(directory.path, canary).length > 0, "the search finds what is there");

  // Some are told while it goes on: each is erased with the rest, or refused as it comes after.
  let isErased = false;
  let toldMeanwhile = 0;
  const teller = async () => {
    while (!isErased) {
      const answer = await tell(theirs, await snapshotOf(sessionId));
      assert.ok([202, 409].includes(answer.status), JSON.stringify(answer.body));
      if (answer.status === 409) return;
      toldMeanwhile += 1;
    }
  };
  const tellers = [teller(), teller(), teller(), teller()];
  const { status, body } = await client.post("/v1/tenants/tenant_b/erase", { reason: "contract ended" });
  assert.equal(status, 200, JSON.stringify(body));
  isErased = true;
  await Promise.all(tellers);

  assert.deepEqual(filesWith(directory.path, canary), []);
  assert.ok(filesWith(directory.path, "bystander").length > 0, "the other tenant speaks of it too");
  const erased = (await readSession(theirs, sessionId)).body;
  assert.equal(erased.start.redacted, true);
  assert.equal(erased.snapshots.length, 3 + toldMeanwhile);
  assert.match(erased.snapshots[0].snapshotHash, /^[0-9a-f]{64}$/);
  harpErrorOf(await tell(theirs, eventsOf(sessionId).editing), 409, "HARP_SESSION_ERR_SESSION_CLOSED");
  assert.equal((await readSession(client, sessionId)).body.snapshots.length, 1);
  errorOf(await theirs.get("/v1/sessions/none"), 404);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(filesWith(directory.path, canary), []);
  await assertRebuildable(directory.path);
});

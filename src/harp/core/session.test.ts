/** Sessions: told by events that may come twice or late, until they end. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { canonicalBytes } from "./canonical.ts";
import {
  applySessionEvent,
  readSessionEvent,
  type SessionEvent,
  type SessionRecord,
  type SessionSnapshot,
  snapshotBytesMax,
  snapshotHashOf,
  snapshotsMax,
} from "./session.ts";

const text =
  '{"createdAt":"2026-02-21T12:02:00Z","eventType":"session.snapshot","payload":{"filesAffected":["parser.py","lexer.py"],"summary":"Parser refactor planned. Medium risk due to grammar changes."},"sessionId":"01J2V8V3M2YF0KX9Q0Z7E6H9R1","snapshotHashAlg":"SHA-256","snapshotId":"snap-001","snapshotType":"summary"}';
const snapshotHash = "5145a558f7390a66768c6da0195f12484bb1f01c44b8bc33518733970ac06e5d";
const sessionId = "01J2V8V3M2YF0KX9Q0Z7E6H9R1";
const snapshot: SessionSnapshot = { ...JSON.parse(text), snapshotHash };
const start = {
  sessionId,
  eventType: "session.start",
  createdAt: "2026-02-21T12:00:00Z",
  agentHost: "host-1",
} as const;
const planning = {
  sessionId,
  eventType: "session.status",
  state: "planning",
  updatedAt: "2026-02-21T12:01:00Z",
} as const;
const editing = { ...planning, state: "editing", updatedAt: "2026-02-21T12:03:00Z" } as const;
const end = {
  sessionId,
  eventType: "session.end",
  endedAt: "2026-02-21T12:09:00Z",
  reason: "user_end",
} as const;

async function told(events: readonly SessionEvent[]): Promise<SessionRecord> {
  let session: SessionRecord | null = null;
  for (const event of events) ({ session } = await applySessionEvent(session, event));
  assert.ok(session);
  return session;
}

async function hashed(changes: Partial<SessionSnapshot>): Promise<SessionSnapshot> {
  const changed = { ...snapshot, ...changes };
  return { ...changed, snapshotHash: await snapshotHashOf(changed) };
}

describe("snapshots", () => {
  test("HARP-114 the published snapshot has the published bytes and hash", async () => {
    // Given the published snapshot, when it is hashed, then its bytes and its hash are the published ones.
    const { snapshotHash: _hash, ...signable } = snapshot;
    assert.equal(Buffer.from(canonicalBytes(signable)).toString(), text);
    assert.equal(text.length, 311);
    assert.equal(await snapshotHashOf(snapshot), snapshotHash);
    assert.notEqual(await snapshotHashOf({ ...snapshot, metadata: {} }), snapshotHash);
  });

  test("HARP-118 given a snapshot that is known, when it comes again, then there is no second one", async () => {
    const session = await told([start, snapshot]);
    assert.deepEqual(session.snapshots, [{ snapshotId: "snap-001", snapshotHash }]);
    const again = await applySessionEvent(session, snapshot);
    assert.deepEqual(again, { session, isDuplicate: true });
    const other = await applySessionEvent(session, await hashed({ snapshotId: "snap-002" }));
    assert.equal(other.isDuplicate, false);
    assert.equal(other.session.snapshots.length, 2);
  });

  test("given a snapshot that is known, when another comes under its id, then it is refused", async () => {
    const session = await told([start, snapshot]);
    await assert.rejects(applySessionEvent(session, await hashed({ payload: { summary: "Other" } })), {
      code: "HARP_SESSION_ERR_DUPLICATE_SNAPSHOT",
    });
  });

  test("HARP-119, HARP-122 does not keep a snapshot with any digit of its hash changed", async () => {
    // Given a snapshot with any digit of its hash changed, when it comes, then it is not kept.
    const session = await told([start]);
    for (let i = 0; i < 64; i++) {
      const corrupt =
        snapshotHash.slice(0, i) + (snapshotHash[i] === "0" ? "1" : "0") + snapshotHash.slice(i + 1);
      await assert.rejects(applySessionEvent(session, { ...snapshot, snapshotHash: corrupt }), {
        code: "HARP_ERR_HASH_MISMATCH",
      });
    }
    await assert.rejects(applySessionEvent(session, { ...snapshot, payload: {} }), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    assert.deepEqual(session, await told([start]));
  });

  test("HARP-124 given another algorithm, when a snapshot comes, then it is refused as unsupported", async () => {
    await assert.rejects(applySessionEvent(null, { ...snapshot, snapshotHashAlg: "MD5" }), {
      code: "HARP_ERR_UNSUPPORTED",
    });
  });

  test("given a snapshot that is too large, or one too many, when it comes, then it is refused", async () => {
    const large = await hashed({ payload: { text: "x".repeat(snapshotBytesMax) } });
    await assert.rejects(applySessionEvent(null, large), { details: { reason: "too_large" } });
    const session = await told([start]);
    const snapshots = Array.from({ length: snapshotsMax }, (_, i) => ({
      snapshotId: `s-${i}`,
      snapshotHash,
    }));
    await assert.rejects(applySessionEvent({ ...session, snapshots }, snapshot), {
      code: "HARP_ERR_POLICY_DENY",
    });
  });
});

describe("events", () => {
  const refused: [string, unknown, string][] = [
    ["no type", { ...start, eventType: undefined }, "HARP_ERR_TRANSPORT"],
    [
      "a type that is missing",
      { sessionId, createdAt: start.createdAt, agentHost: "h" },
      "HARP_ERR_TRANSPORT",
    ],
    ["a type that is not known", { ...start, eventType: "session.pause" }, "HARP_ERR_TRANSPORT"],
    ["a state that is not known", { ...planning, state: "thinking" }, "HARP_SESSION_ERR_INVALID_STATE"],
    ["a kind of snapshot that is not known", { ...snapshot, snapshotType: "video" }, "HARP_ERR_TRANSPORT"],
    ["a reason that is not known", { ...end, reason: "bored" }, "HARP_ERR_TRANSPORT"],
    ["a member that is not known", { ...start, payload: {} }, "HARP_ERR_TRANSPORT"],
    ["no session id", { ...start, sessionId: "" }, "HARP_ERR_TRANSPORT"],
    ["a time that is none", { ...end, endedAt: "later" }, "HARP_ERR_TRANSPORT"],
    ["no object", [start], "HARP_ERR_TRANSPORT"],
  ];
  for (const [what, event, code] of refused) {
    test(`HARP-119 given an event with ${what}, when it comes, then it is refused`, async () => {
      assert.throws(() => readSessionEvent(event), { code });
      await assert.rejects(applySessionEvent(null, event), { code });
    });
  }

  test("HARP-119 rejects another session under a known id and accepts the same start again", async () => {
    // Given a session, when another is started under its id, then it is refused; the same start is not.
    const session = await told([start, planning]);
    const reused = { ...start, createdAt: "2026-02-21T13:00:00Z" };
    await assert.rejects(applySessionEvent(session, reused), { code: "HARP_SESSION_ERR_INVALID_STATE" });
    assert.deepEqual(await applySessionEvent(session, { ...start }), { session, isDuplicate: true });
  });

  test("HARP-120 given a session that has ended, when any event comes, then it is refused", async () => {
    const session = await told([start, snapshot, end]);
    for (const event of [
      start,
      planning,
      editing,
      snapshot,
      end,
      { ...editing, updatedAt: "2026-02-21T12:04:00Z" },
    ]) {
      await assert.rejects(applySessionEvent(session, event), { code: "HARP_SESSION_ERR_SESSION_CLOSED" });
    }
    assert.deepEqual(session.end, end);
  });

  test("HARP-120 events give the same session in any order and when repeated", async () => {
    // Given events before the end, when they come in any order, and more than once, then they tell the same.
    const expected = await told([start, planning, snapshot, editing]);
    assert.equal(expected.status?.state, "editing");
    const order = fc.shuffledSubarray(
      [start, planning, snapshot, editing, editing, snapshot, start, planning],
      {
        minLength: 8,
      },
    );
    await fc.assert(
      fc.asyncProperty(order, async (events) => assert.deepEqual(await told(events), expected)),
    );
  });

  test("given a status that repeats, when it comes again, then it is a duplicate", async () => {
    const session = await told([start, planning]);
    assert.equal((await applySessionEvent(session, { ...planning })).isDuplicate, true);
    assert.equal((await applySessionEvent(session, { ...planning, details: {} })).isDuplicate, false);
  });

  test("given an event of another session, when it is applied, then it is refused", async () => {
    const session = await told([start]);
    await assert.rejects(applySessionEvent(session, { ...planning, sessionId: "other" }), {
      code: "HARP_ERR_TRANSPORT",
    });
  });
});

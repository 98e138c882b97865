/**
 * Take an event about a session of an agent, as HARP-SESSION has them. An event that came before changes nothing; a
 * snapshot is stored when its hash was verified, and only then.
 */

import { HarpError } from "../../harp/core/harp-error.ts";
import {
  applySessionEvent,
  readSessionEvent,
  type SessionEvent,
  type SessionRecord,
} from "../../harp/core/session.ts";
import { isFromTheFuture } from "../../harp/core/times.ts";
import { requireWholeTenant } from "../access/authorize.ts";
import type { Content } from "../core/content.ts";
import type { Command } from "../core/dispatch.ts";
import type { Unit } from "../core/unit.ts";
import { type HarpSessionRecord, type HarpSessionTold, harpSessionId } from "../kinds/harp-session.ts";

export const tellHarpSession: Command<{ value: unknown }, { isDuplicate: boolean }> = {
  name: "tell_harp_session",
  scope: "sessions:write",
  decide(unit, { value }) {
    // The session is no workspace's: whoever reads it sees what was told of it anywhere in the tenant.
    requireWholeTenant(unit.caller, "sessionId");
    const event = readSessionEvent(value);
    assertNotFromTheFuture(unit, event);
    const id = harpSessionId(unit.caller.tenantId, event.sessionId);
    unit.hold(id);
    const known = unit.findAsSystem("harp_session", id);
    const state = known === undefined ? null : stateOf(unit, known);
    const { isLate, isDuplicate } = unit.awaited("session", async () => {
      const { session, isDuplicate } = await applySessionEvent(state, event);
      return { isLate: session === state, isDuplicate };
    });
    if (isDuplicate) return { isDuplicate };
    assertKeptAsItIs(unit, event);
    const record = known ?? begin(unit, id, event.sessionId);
    unit.emit(record, "vendor.bridle.harp_session.told", toldOf(unit, event, isLate));
    return { isDuplicate };
  },
};

/** One status from next year would be the latest until then. */
function assertNotFromTheFuture(unit: Unit, event: SessionEvent): void {
  const { clock, approvals } = unit.deps;
  if (!isFromTheFuture(timeOf(event), clock.now(), approvals.skewMs)) return;
  throw new HarpError("HARP_ERR_EXPIRED", "The event was made in the future.", { reason: "future_dated" });
}

function timeOf(event: SessionEvent): string {
  switch (event.eventType) {
    case "session.status":
      return event.updatedAt;
    case "session.end":
      return event.endedAt;
    default:
      return event.createdAt;
  }
}

/** Nothing that looks like a secret is written here, and nothing is kept under the hash of something else. */
function assertKeptAsItIs(unit: Unit, event: SessionEvent): void {
  if (unit.redactor.value(event) === event) return;
  throw new HarpError("HARP_ERR_POLICY_DENY", "The event holds what looks like a secret; it is not kept.", {
    reason: "secret",
  });
}

function stateOf(unit: Unit, record: HarpSessionRecord): SessionRecord {
  const { harp_session_id: sessionId, start, status, end, snapshots } = record;
  return {
    sessionId,
    start: known(unit, start),
    status: known(unit, status),
    snapshots: snapshots.map(({ id, hash }) => ({ snapshotId: id, snapshotHash: hash })),
    end: known(unit, end),
  };
}

/** What was erased cannot be compared with what comes, so that nothing is added to it. */
function known<T>(unit: Unit, content: Content<T> | null): T | null {
  if (content === null) return null;
  if ("erased" in content) {
    throw new HarpError(
      "HARP_SESSION_ERR_SESSION_CLOSED",
      "What is known of the session was erased, by request; nothing is added to it.",
    );
  }
  return unit.unseal(content);
}

function begin(unit: Unit, id: string, sessionId: string): HarpSessionRecord {
  const record: HarpSessionRecord = {
    ...unit.envelope("harp_session", "harp_session"),
    id,
    metadata: {},
    harp_session_id: sessionId,
    start: null,
    status: null,
    snapshots: [],
    end: null,
  };
  return unit.emit(record, "vendor.bridle.harp_session.begun", { harp_session: record });
}

function toldOf(unit: Unit, event: SessionEvent, isLate: boolean): HarpSessionTold {
  switch (event.eventType) {
    case "session.start":
      return { kind: event.eventType, content: unit.seal(event) };
    case "session.status":
      return { kind: event.eventType, content: unit.seal(event), is_late: isLate };
    case "session.snapshot": {
      const { snapshotId: id, snapshotType: type, createdAt: created_at, snapshotHash: hash } = event;
      return {
        kind: event.eventType,
        content: unit.seal(event),
        snapshot: { id, type, created_at, hash },
      };
    }
    case "session.end":
      return { kind: event.eventType, content: unit.seal(event) };
  }
}

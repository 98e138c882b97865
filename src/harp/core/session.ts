/** HARP-SESSION: what is told about a session of an agent, in events that can come twice and in any order. */

import { bareHashForm, canonicalBytes, canonicalText, sha256Hex } from "./canonical.ts";
import { HarpError } from "./harp-error.ts";
import { closed, id, malformed, matching, object, oneOf, only, type Reader, text, time } from "./read.ts";
import { parseTime } from "./times.ts";

const sessionStates = ["idle", "planning", "editing", "executing", "waiting_approval", "error"] as const;
export type SessionState = (typeof sessionStates)[number];
const snapshotTypes = ["summary", "plan", "diff_summary", "context"] as const;
export type SnapshotType = (typeof snapshotTypes)[number];
const endReasons = ["user_end", "timeout", "policy_kill"] as const;
export type EndReason = (typeof endReasons)[number];

export interface SessionStart {
  sessionId: string;
  eventType: "session.start";
  createdAt: string;
  agentHost: string;
  repoRef?: string;
  metadata?: Record<string, unknown>;
}

export interface SessionStatus {
  sessionId: string;
  eventType: "session.status";
  state: SessionState;
  updatedAt: string;
  details?: Record<string, unknown>;
}

export interface SessionSnapshot {
  sessionId: string;
  eventType: "session.snapshot";
  snapshotId: string;
  snapshotType: SnapshotType;
  createdAt: string;
  payload: Record<string, unknown>;
  snapshotHashAlg: "SHA-256";
  /** Bare hex. */
  snapshotHash: string;
  metadata?: Record<string, unknown>;
}

export interface SessionEnd {
  sessionId: string;
  eventType: "session.end";
  endedAt: string;
  reason: EndReason;
  metadata?: Record<string, unknown>;
}

export type SessionEvent = SessionStart | SessionStatus | SessionSnapshot | SessionEnd;

/** A session as its events tell it, so far. The start can still be missing. */
export interface SessionRecord {
  sessionId: string;
  start: SessionStart | null;
  /** The latest by its own time, whenever it came. */
  status: SessionStatus | null;
  snapshots: readonly Pick<SessionSnapshot, "snapshotId" | "snapshotHash">[];
  end: SessionEnd | null;
}

export interface SessionStep {
  session: SessionRecord;
  /** It came before: there is nothing to keep, and nothing to pass on. */
  isDuplicate: boolean;
}

/** Of the canonical form. */
export const snapshotBytesMax = 5 * 1024 * 1024;
/** A snapshot every minute for three days; whoever makes more of them has lost control of a loop. */
export const snapshotsMax = 4096;

const hash = matching(bareHashForm, "64 lowercase hex digits");

/** The type of an event is read first, and is right when these are used. */
const readers = {
  "session.start": closed(
    { sessionId: id, eventType: oneOf(["session.start"]), createdAt: time, agentHost: text },
    { repoRef: text, metadata: object },
  ) satisfies Reader<SessionStart>,
  "session.status": closed(
    {
      sessionId: id,
      eventType: oneOf(["session.status"]),
      state: oneOf(sessionStates, "HARP_SESSION_ERR_INVALID_STATE"),
      updatedAt: time,
    },
    { details: object },
  ) satisfies Reader<SessionStatus>,
  "session.snapshot": closed(
    {
      sessionId: id,
      eventType: oneOf(["session.snapshot"]),
      snapshotId: id,
      snapshotType: oneOf(snapshotTypes),
      createdAt: time,
      payload: object,
      snapshotHashAlg: only("SHA-256"),
      snapshotHash: hash,
    },
    { metadata: object },
  ) satisfies Reader<SessionSnapshot>,
  "session.end": closed(
    { sessionId: id, eventType: oneOf(["session.end"]), endedAt: time, reason: oneOf(endReasons) },
    { metadata: object },
  ) satisfies Reader<SessionEnd>,
} as const;

const eventType = oneOf(["session.start", "session.status", "session.snapshot", "session.end"]);

export function readSessionEvent(value: unknown): SessionEvent {
  return readers[eventType(object(value, "event").eventType, "event.eventType")](value, "event");
}

/** Always computed, whatever hash the snapshot says it has. */
export async function snapshotHashOf(
  snapshot: Omit<SessionSnapshot, "snapshotHash"> | SessionSnapshot,
): Promise<string> {
  return await sha256Hex(canonicalBytes(withoutHash(snapshot)));
}

/** What a session is after one more event; or throws, and it stays what it was. */
export async function applySessionEvent(state: SessionRecord | null, value: unknown): Promise<SessionStep> {
  const event = readSessionEvent(value);
  const session = state ?? {
    sessionId: event.sessionId,
    start: null,
    status: null,
    snapshots: [],
    end: null,
  };
  if (session.sessionId !== event.sessionId) throw malformed("event.sessionId is that of another session");
  if (session.end !== null) {
    throw new HarpError("HARP_SESSION_ERR_SESSION_CLOSED", "The session has ended; nothing is added to it.");
  }
  switch (event.eventType) {
    case "session.start":
      return started(session, event);
    case "session.status":
      return updated(session, event);
    case "session.snapshot":
      return await snapped(session, event);
    case "session.end":
      return changed({ ...session, end: event });
  }
}

/** The same start can be delivered twice. Another one is a second session that took the first one's id. */
function started(session: SessionRecord, event: SessionStart): SessionStep {
  if (session.start === null) return changed({ ...session, start: event });
  if (canonicalText(session.start) === canonicalText(event)) return duplicate(session);
  throw new HarpError("HARP_SESSION_ERR_INVALID_STATE", "A session with this id was started before.", {
    reason: "session_id_reused",
  });
}

function updated(session: SessionRecord, event: SessionStatus): SessionStep {
  if (session.status === null) return changed({ ...session, status: event });
  if (canonicalText(session.status) === canonicalText(event)) return duplicate(session);
  // It came late: what is known is newer, and stays.
  const isLate = (parseTime(event.updatedAt) ?? 0) < (parseTime(session.status.updatedAt) ?? 0);
  return isLate ? changed(session) : changed({ ...session, status: event });
}

async function snapped(session: SessionRecord, event: SessionSnapshot): Promise<SessionStep> {
  const bytes = canonicalBytes(withoutHash(event));
  if (bytes.length > snapshotBytesMax) {
    throw new HarpError("HARP_ERR_UNSUPPORTED", `A snapshot has at most ${snapshotBytesMax} bytes.`, {
      reason: "too_large",
    });
  }
  if ((await sha256Hex(bytes)) !== event.snapshotHash) {
    throw new HarpError("HARP_ERR_HASH_MISMATCH", "The snapshot is not the one that its hash was made of.");
  }
  const { snapshotId, snapshotHash } = event;
  const known = session.snapshots.find((each) => each.snapshotId === snapshotId);
  if (known?.snapshotHash === snapshotHash) return duplicate(session);
  if (known !== undefined) {
    throw new HarpError("HARP_SESSION_ERR_DUPLICATE_SNAPSHOT", "Another snapshot came under the same id.");
  }
  if (session.snapshots.length >= snapshotsMax) {
    throw new HarpError("HARP_ERR_POLICY_DENY", `A session has at most ${snapshotsMax} snapshots.`);
  }
  return changed({ ...session, snapshots: [...session.snapshots, { snapshotId, snapshotHash }] });
}

function changed(session: SessionRecord): SessionStep {
  return { session, isDuplicate: false };
}

function duplicate(session: SessionRecord): SessionStep {
  return { session, isDuplicate: true };
}

function withoutHash(
  snapshot: Omit<SessionSnapshot, "snapshotHash"> | SessionSnapshot,
): Partial<SessionSnapshot> {
  const hashed: Partial<SessionSnapshot> = { ...snapshot };
  delete hashed.snapshotHash;
  return hashed;
}

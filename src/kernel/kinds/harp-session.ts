/**
 * A session of an agent somewhere, as its events tell it. Those can come twice and in any order; what a snapshot holds is
 * in its event only.
 */

import type {
  SessionEnd,
  SessionSnapshot,
  SessionStart,
  SessionStatus,
  SnapshotType,
} from "../../harp/core/session.ts";
import { type Content, sha256Hex } from "../core/content.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export interface HarpSessionRecord extends Resource<"harp_session"> {
  /** What those who tell of it call it. It is no session of this server, which is why this is not `session_id`. */
  harp_session_id: string;
  start: Content<SessionStart> | null;
  /** The latest by its own time. */
  status: Content<SessionStatus> | null;
  /** In the order in which they came. */
  snapshots: SnapshotEntry[];
  end: Content<SessionEnd> | null;
}

export interface SnapshotEntry {
  id: string;
  type: SnapshotType;
  created_at: string;
  hash: string;
}

export type HarpSessionTold =
  | { kind: "session.start"; content: Content<SessionStart> }
  /** One that is late was followed by what is known already. */
  | { kind: "session.status"; content: Content<SessionStatus>; is_late: boolean }
  | { kind: "session.snapshot"; content: Content<SessionSnapshot>; snapshot: SnapshotEntry }
  | { kind: "session.end"; content: Content<SessionEnd> };

export function harpSessionId(tenantId: string, sessionId: string): string {
  return `harp_session_${sha256Hex(JSON.stringify([tenantId, sessionId]))}`;
}

export function foldHarpSession(session: HarpSessionRecord, event: KernelEvent): HarpSessionRecord {
  if (event.event !== "vendor.bridle.harp_session.told") return session;
  return { ...session, ...toldOf(session, event.payload), updated_at: event.createdAt };
}

function toldOf({ snapshots }: HarpSessionRecord, told: HarpSessionTold): Partial<HarpSessionRecord> {
  switch (told.kind) {
    case "session.start":
      return { start: told.content };
    case "session.status":
      return told.is_late ? {} : { status: told.content };
    case "session.snapshot":
      return { snapshots: [...snapshots, told.snapshot] };
    case "session.end":
      return { end: told.content };
  }
}

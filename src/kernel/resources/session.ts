/**
 * A session: what is said and done belongs together here.
 *
 * Its transcript is a list of log ranges rather than a copy of messages: a fork takes over its parent's ranges up to a
 * point, a truncation cuts them, and neither moves or deletes a single message.
 */

import type { JsonObject, Position } from "../../store/port.ts";
import type { KernelEvent } from "../events.ts";
import type { SessionState } from "../lifecycle.ts";
import type { Resource } from "./resource.ts";

/** The messages of a session with `after < position <= through`; no end means: and all that will come. */
export interface TranscriptRange {
  session_id: string;
  after: Position;
  through: Position | null;
}

export interface SessionRecord extends Resource<"session"> {
  workspace_id: string;
  state: SessionState;
  persona_id: string | null;
  root_session_id: string | null;
  parent_session_id: string | null;
  branch_id: string | null;
  summary: string | null;
  expires_at: string | null;
  /** What its tasks may read beside the memories of their own scopes, and may use. */
  memory_ids?: string[];
  skill_ids?: string[];
  ranges: TranscriptRange[];
  /** Where its tasks look for secrets first. Sessions of older logs have none. */
  vault_ids?: string[];
}

export interface SessionChanges {
  summary?: string | null;
  metadata?: JsonObject;
}

export function foldSession(session: SessionRecord, event: KernelEvent): SessionRecord {
  switch (event.event) {
    case "vendor.bridle.session.updated":
      return { ...session, ...event.payload.changes, updated_at: event.createdAt };
    case "session.closed":
      return { ...session, state: "CLOSED", updated_at: event.createdAt };
    case "session.truncated":
      return { ...session, ranges: event.payload.ranges, updated_at: event.createdAt };
    default:
      return session;
  }
}

/** The same transcript, ending at a position. */
export function cutRanges(ranges: readonly TranscriptRange[], through: Position): TranscriptRange[] {
  return ranges
    .filter((range) => range.after < through)
    .map((range) => ({ ...range, through: Math.min(range.through ?? through, through) }));
}

/**
 * A session: what is said and done belongs together here.
 *
 * Its transcript is a list of log ranges rather than a copy of messages: a fork takes over its parent's ranges up to a
 * point, a truncation cuts them, and neither moves or deletes a single message.
 */

import type { JsonObject, Position } from "../../store/port.ts";
import type { KernelEvent, Trimmed } from "../core/events.ts";
import type { SessionState } from "../tasks/lifecycle.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";

/** The messages of a session with `after < position <= through`; no end means: and all that will come. */
export interface TranscriptRange {
  session_id: string;
  after: Position;
  through: Position | null;
}

/** Turns that were folded away: what they were, and where to find them. */
export interface Compaction {
  compacted_at: string;
  /** The event of the first message that was folded away, and the last event before what is left. */
  from_event_id: string;
  through_event_id: string;
  turn_count: number;
  message_count: number;
  event_count: number;
  artifact_count: number;
  /** The first of them, up to a bound; all are in the log between the two events. */
  artifact_ids: string[];
  summary: string;
  /** What the transcript lost, so that a fork from before it finds it again. */
  ranges: TranscriptRange[];
}

export interface SessionRecord extends Resource<"session"> {
  workspace_id: string;
  state: SessionState;
  persona_id: string | null;
  /** The actor that made it; sessions of earlier versions do not say. */
  created_by?: string;
  root_session_id: string | null;
  parent_session_id: string | null;
  /** What the client that began it calls it, where it had a name for it. */
  context_id?: string;
  branch_id: string | null;
  summary: string | null;
  expires_at: string | null;
  /** What its tasks may read beside the memories of their own scopes, and may use. */
  memory_ids?: string[];
  skill_ids?: string[];
  ranges: TranscriptRange[];
  /** Where its tasks look for secrets first. Sessions of older logs have none. */
  vault_ids?: string[];
  /** Oldest first; absent until the first one. */
  compactions?: Compaction[];
  /** Set once somebody asked for its content to be erased. */
  erasure?: Erasure;
  /** The last of its events that left the log by age. */
  trimmed_through_event_id?: string;
}

/** The erasure of what a session holds: asked for, and done. */
export interface Erasure {
  requested_at: string;
  requested_by: string;
  reason: string | null;
  erased_at: string | null;
}

export interface SessionChanges {
  state?: "ACTIVE" | "PAUSED";
  expires_at?: string | null;
  summary?: string | null;
  metadata?: JsonObject;
}

const changeable: MembersOf<SessionChanges> = {
  state: true,
  expires_at: true,
  summary: true,
  metadata: true,
};

export function foldSession(session: SessionRecord, event: KernelEvent): SessionRecord {
  switch (event.event) {
    case "vendor.bridle.session.updated":
      return { ...session, ...picked(event.payload.changes, changeable), updated_at: event.createdAt };
    case "session.closed":
      return { ...session, state: "CLOSED", updated_at: event.createdAt };
    case "session.truncated":
      return { ...session, ranges: event.payload.ranges, updated_at: event.createdAt };
    case "session.compacted": {
      const { ranges, compaction } = event.payload;
      return {
        ...session,
        ranges,
        summary: compaction.summary,
        compactions: bounded([...(session.compactions ?? []), compaction]),
        updated_at: event.createdAt,
      };
    }
    case "vendor.bridle.session.erasure_requested": {
      const { erasure } = event.payload;
      return { ...session, state: "CLOSED", erasure, updated_at: event.createdAt };
    }
    case "vendor.bridle.session.erased": {
      const { erasure } = session;
      if (erasure === undefined) return session;
      return { ...session, erasure: { ...erasure, erased_at: event.createdAt }, updated_at: event.createdAt };
    }
    case "vendor.bridle.session.trimmed":
      return { ...session, trimmed_through_event_id: laterOf(session, event.payload) };
    default:
      return session;
  }
}

/** Event ids sort as positions do. */
export function laterOf(
  { trimmed_through_event_id = "" }: { trimmed_through_event_id?: string },
  { through_event_id }: Trimmed,
): string {
  return through_event_id > trimmed_through_event_id ? through_event_id : trimmed_through_event_id;
}

/** Compactions that a session lists one by one; of more, the oldest are told as one. */
const compactionsMax = 100;
/** Artifacts that one compaction lists. */
export const compactedArtifactsMax = 100;

function bounded(compactions: Compaction[]): Compaction[] {
  const [first, second, ...rest] = compactions;
  if (compactions.length <= compactionsMax || first === undefined || second === undefined) return compactions;
  const together: Compaction = {
    ...second,
    from_event_id: first.from_event_id,
    turn_count: first.turn_count + second.turn_count,
    message_count: first.message_count + second.message_count,
    event_count: first.event_count + second.event_count,
    artifact_count: first.artifact_count + second.artifact_count,
    artifact_ids: [...first.artifact_ids, ...second.artifact_ids].slice(0, compactedArtifactsMax),
    ranges: [...first.ranges, ...second.ranges],
  };
  return [together, ...rest];
}

/** The same transcript, beginning after a position. */
export function rangesAfter(ranges: readonly TranscriptRange[], after: Position): TranscriptRange[] {
  return ranges
    .filter((range) => range.through === null || range.through > after)
    .map((range) => ({ ...range, after: Math.max(range.after, after) }));
}

/** The same transcript, ending at a position. */
export function cutRanges(ranges: readonly TranscriptRange[], through: Position): TranscriptRange[] {
  return ranges
    .filter((range) => range.after < through)
    .map((range) => ({ ...range, through: Math.min(range.through ?? through, through) }));
}

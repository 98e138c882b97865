/**
 * Keep the first N turns of a session's transcript and drop the rest in place. A turn starts at a user message.
 * Tasks submitted in a dropped turn are canceled first. Nothing is deleted: the log keeps every event.
 */

import type { Position, TenantStore } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { cutRanges, type SessionRecord } from "../kinds/session.ts";
import { cancelTasks } from "../tasks/cancel-task.ts";
import { openSession } from "../tasks/submit-task.ts";
import { walkTranscript } from "./transcript.ts";

export interface TruncateResult {
  keptTurnCount: number;
  removedTurnCount: number;
  newTipTurnId: string | null;
  session: SessionRecord;
}

export const truncateSession: Command<
  { sessionId: string; keepFirst: number; reason?: string | undefined },
  TruncateResult
> = {
  name: "truncate_session",
  scope: "sessions:write",
  decide(unit, { sessionId, keepFirst, reason }) {
    const session = openSession(unit, sessionId);
    const turns = unit.awaited("turns", () => countTurns(unit.own, session, keepFirst));
    if (turns.removed === 0) {
      return { keptTurnCount: turns.kept, removedTurnCount: 0, newTipTurnId: turns.tip, session };
    }
    const { deps, caller } = unit;
    unit.awaited("cancellations", () =>
      cancelTasks(deps, caller, { sessionId }, "Its turn was truncated.", turns.droppedFrom),
    );
    const head = unit.head();
    const truncated = unit.emit(session, "session.truncated", {
      kept_turn_count: turns.kept,
      removed_turn_count: turns.removed,
      new_tip_turn_id: turns.tip,
      reason: reason ?? null,
      ranges: [
        ...cutRanges(session.ranges, turns.keptThrough),
        { session_id: session.id, after: head, through: null },
      ],
    });
    return {
      keptTurnCount: turns.kept,
      removedTurnCount: turns.removed,
      newTipTurnId: turns.tip,
      session: truncated,
    };
  },
};

interface Turns {
  kept: number;
  removed: number;
  /** The user message that starts the last kept turn. */
  tip: string | null;
  keptThrough: Position;
  /** The user message that starts the first dropped turn. */
  droppedFrom: Position;
}

/** What comes before the first user message (a system prompt, say) belongs to no turn and stays. */
async function countTurns(own: TenantStore, session: SessionRecord, keepFirst: number): Promise<Turns> {
  const turns: Turns = {
    kept: 0,
    removed: 0,
    tip: null,
    keptThrough: 0,
    droppedFrom: Number.POSITIVE_INFINITY,
  };
  for await (const { message, position } of walkTranscript(own, session.ranges)) {
    if (message.role === "user") {
      if (turns.kept < keepFirst) {
        turns.kept += 1;
        turns.tip = message.id;
      } else {
        turns.removed += 1;
        turns.droppedFrom = Math.min(turns.droppedFrom, position);
      }
    }
    if (turns.removed === 0) turns.keptThrough = position;
  }
  return turns;
}

/** Fork a session: a new one that starts with the transcript up to an event, and a branch that says where it came from. */

import type { JsonObject, Position } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { eventId, positionOf } from "../core/events.ts";
import type { Unit } from "../core/unit.ts";
import type { BranchRecord } from "../kinds/branch.ts";
import { type Compaction, cutRanges, type SessionRecord } from "../kinds/session.ts";
import { assertOpen } from "./branches.ts";

export interface ForkSession {
  sessionId: string;
  atEventId?: string | null | undefined;
  branchId?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

export const forkSession: Command<ForkSession, SessionRecord> = {
  name: "fork_session",
  scope: "sessions:write",
  decide(unit, request) {
    const parent = unit.require("session", request.sessionId);
    const through = forkPoint(unit, parent, request.atEventId ?? null);
    const envelope = unit.envelope("session", "session");
    const branch =
      request.branchId == null
        ? newBranch(unit, parent, envelope.id, through)
        : unit.require("branch", request.branchId);
    assertOpen(branch);
    const session: SessionRecord = {
      ...parent,
      ...envelope,
      ...transcriptAt(parent, through),
      metadata: request.metadata ?? {},
      state: "ACTIVE",
      root_session_id: parent.root_session_id ?? parent.id,
      parent_session_id: parent.id,
      branch_id: branch.id,
      created_by: unit.caller.actor,
    };
    session.ranges.push({ session_id: envelope.id, after: 0, through: null });
    const forked = unit.emit(session, "session.created", { session });
    if (request.branchId == null) unit.emit(branch, "branch.created", { branch });
    unit.emit(parent, "session.thread_forked", {
      session_id: session.id,
      branch_id: branch.id,
      at_event_id: eventId(through),
    });
    return forked;
  },
};

/** The transcript as it was at a position: what was folded away later, or reaches beyond it, is unfolded again. */
function transcriptAt(
  { ranges, summary, compactions = [] }: SessionRecord,
  through: Position,
): Pick<SessionRecord, "ranges" | "summary" | "compactions"> {
  const ended = (compaction: Compaction) => positionOf(compaction.through_event_id, "at_event_id") <= through;
  const kept = compactions.filter(ended);
  const unfolded = compactions.filter((compaction) => !ended(compaction));
  const isAboutUnfolded = unfolded.some((compaction) => compaction.summary === summary);
  const whole = [...unfolded.flatMap((compaction) => compaction.ranges), ...ranges];
  return {
    ranges: cutRanges(whole, through).sort((a, b) => (a.through ?? through) - (b.through ?? through)),
    summary: isAboutUnfolded ? (kept.at(-1)?.summary ?? null) : summary,
    ...(compactions.length === 0 ? {} : { compactions: kept }),
  };
}

function forkPoint(unit: Unit, parent: SessionRecord, atEventId: string | null): number {
  if (atEventId === null) return unit.head();
  const position = positionOf(atEventId, "at_event_id");
  const [event] = unit.events({
    sessionId: parent.id,
    after: position - 1,
    through: position,
    limit: 1,
  });
  if (event !== undefined) return position;
  throw new HarnessError("invalid_request", `${atEventId} is not an event of session ${parent.id}.`, {
    param: "at_event_id",
  });
}

function newBranch(unit: Unit, parent: SessionRecord, sessionId: string, through: number): BranchRecord {
  return {
    ...unit.envelope("branch", "branch"),
    metadata: {},
    workspace_id: parent.workspace_id,
    kind: "session",
    base_ref: `${parent.id}@${eventId(through)}`,
    parent_branch_id: parent.branch_id,
    session_id: sessionId,
    task_id: null,
    created_by: unit.caller.actor,
    merged_into: null,
  };
}

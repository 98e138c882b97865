/** What was learnt about a hand-off while it was followed: that the remote took it, its state, or what went wrong. */

import type { Redactor } from "../../policy/redact/redact.ts";
import type { Command } from "../core/dispatch.ts";
import type { HandoffChanges, HandoffRecord } from "../kinds/handoff.ts";
import { isFinal } from "../tasks/lifecycle.ts";

export interface NoteHandoff {
  handoffId: string;
  taskId: string;
  changes: HandoffChanges;
  /** Set when the remote has just taken the work: what its task is called. */
  acceptedAs?: string | undefined;
  redactor: Redactor;
}

export const noteHandoff: Command<NoteHandoff, HandoffRecord | null> = {
  name: "note_handoff",
  scope: "tasks:write",
  decide(unit, { handoffId, taskId, changes, acceptedAs, redactor }) {
    unit.redactor = redactor;
    if (acceptedAs !== undefined) unit.hold(taskId);
    const handoff = unit.find("handoff", handoffId);
    if (handoff === undefined || handoff.status === "ended") return null;
    if (acceptedAs !== undefined) {
      const task = unit.find("task", taskId);
      // The log of a task that has ended is closed; that the remote took it stays in the record.
      if (task !== undefined && !isFinal(task.status)) {
        const { first_step: step, url } = handoff;
        unit.emit(task, "agent.handoff", { step, url, task_id: acceptedAs });
      }
    }
    return unit.emit(handoff, "vendor.bridle.handoff.updated", { changes });
  },
};

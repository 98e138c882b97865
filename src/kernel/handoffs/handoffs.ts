/** The moves of a hand-off, shared by commands and runtime. */

import { hashOf } from "../../receipts/canonical.ts";
import type { Unit } from "../core/unit.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { Delegation, HandoffRecord, Outgoing } from "../kinds/handoff.ts";
import { chainIdOf } from "../kinds/receipt.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { contentHash } from "../receipts/facts.ts";

export type NewHandoff = Pick<
  HandoffRecord,
  "id" | "first_step" | "url" | "credentials" | "trust" | "expires_at"
> & { outgoing: Outgoing };

export function createHandoff(
  unit: Unit,
  task: TaskRecord,
  { id, first_step, url, credentials, trust, expires_at, outgoing }: NewHandoff,
): HandoffRecord {
  const handoff: HandoffRecord = {
    ...unit.envelope("handoff", "handoff"),
    id,
    metadata: {},
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    first_step,
    step: first_step,
    url,
    credentials,
    trust,
    delegation: delegationOf(unit, task, id, outgoing),
    outgoing,
    remote: null,
    status: "open",
    problem: null,
    attempts: 0,
    look_at: unit.at,
    expires_at,
  };
  return unit.emit(handoff, "vendor.bridle.handoff.created", { handoff });
}

function delegationOf(unit: Unit, task: TaskRecord, handoffId: string, { parts }: Outgoing): Delegation {
  const chain = unit.peek("receipt_chain", chainIdOf(task.workspace_id));
  return {
    issuer: unit.deps.issuer.id,
    workspace_id: task.workspace_id,
    task_id: task.id,
    handoff_id: handoffId,
    task_hash: taskHash(task),
    input_hash: contentHash(parts),
    chain_head: chain?.last_hash ?? null,
  };
}

/** What is true of a task from its submission on. */
function taskHash({ id, created_at, created_by, persona_id, session_id, input }: TaskRecord): string {
  const given = "payload" in input ? contentHash(input.payload) : input.message_id;
  return hashWellFormed({ id, created_at, created_by, persona_id, session_id, input: given }, hashOf);
}

/** Another step of the run waits for the remote from here on. */
export function awaitRemote(
  unit: Unit,
  handoffId: string,
  { step, outgoing = null }: { step: string; outgoing?: Outgoing | null },
): void {
  const handoff = unit.require("handoff", handoffId);
  unit.emit(handoff, "vendor.bridle.handoff.updated", {
    changes: { step, outgoing, attempts: 0, problem: null, look_at: unit.at },
  });
}

/** Nobody waits any more: the remote is told, if it can be. */
export function abandonHandoff(unit: Unit, handoffId: string): void {
  const handoff = unit.find("handoff", handoffId);
  if (handoff === undefined || handoff.status !== "open") return;
  unit.emit(handoff, "vendor.bridle.handoff.updated", {
    changes: { status: "canceling", step: null, attempts: 0, look_at: unit.at },
  });
}

/**
 * Merge a branch into another one of its workspace. It is lineage and nothing else: no message is copied from one
 * transcript into the other; the events say at which events of both sessions it happened, so that a reader finds the rest.
 */

import type { Caller } from "../../policy/caller.ts";
import type { Store } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { eventId } from "../core/events.ts";
import { findVisible } from "../core/read.ts";
import type { Unit } from "../core/unit.ts";
import type { BranchRecord } from "../kinds/branch.ts";
import { assertOpen, closableBranch } from "./branches.ts";

/** Nobody branches deeper than this; a lineage that does is not walked to its end. */
const ancestorsMax = 1000;

export interface MergeBranch {
  branchId: string;
  intoBranchId: string;
}

export const mergeBranch: Command<MergeBranch, BranchRecord> = {
  name: "merge_branch",
  scope: "branches:write",
  decide(unit, { branchId, intoBranchId }) {
    const branch = closableBranch(unit, branchId);
    if (intoBranchId === branchId) throw refused("A branch cannot be merged into itself.");
    const into = unit.require("branch", intoBranchId);
    assertOpen(into);
    if (into.workspace_id !== branch.workspace_id)
      throw refused("The branches belong to different workspaces; merge inside one.");
    assertNoDescendant(unit, into, branch);

    const parentSessionId = parentSessionOf(unit, branch);
    const tips = {
      into_branch_id: into.id,
      tip_event_id: tipOf(unit, branch.session_id),
      into_tip_event_id: tipOf(unit, parentSessionId ?? into.session_id),
    };
    const merged = unit.emit(branch, "branch.merged", tips);
    if (parentSessionId !== null && branch.session_id !== null) {
      const parent = unit.require("session", parentSessionId);
      const thread = { session_id: branch.session_id, branch_id: branch.id, ...tips };
      unit.emit(parent, "session.thread_merged", thread);
    }
    return merged;
  },
};

function assertNoDescendant(unit: Unit, into: BranchRecord, branch: BranchRecord): void {
  const { deps, caller } = unit;
  if (!unit.awaited("descent", () => isDescendant(deps.store, caller, into, branch.id))) return;
  throw refused(`Branch ${into.id} comes from branch ${branch.id}, which cannot be merged into it.`);
}

/** Parents never change, so what is read here need not be expected unchanged. */
async function isDescendant(
  store: Store,
  caller: Caller,
  { parent_branch_id }: BranchRecord,
  ancestorId: string,
): Promise<boolean> {
  let parentId = parent_branch_id;
  for (let depth = 0; parentId !== null && depth < ancestorsMax; depth++) {
    if (parentId === ancestorId) return true;
    const parent: BranchRecord | undefined = await findVisible(store, caller, "branch", parentId);
    parentId = parent?.parent_branch_id ?? null;
  }
  return false;
}

/** The session that the branch's session was forked from. */
function parentSessionOf(unit: Unit, { kind, session_id }: BranchRecord): string | null {
  if (kind !== "session" || session_id === null) return null;
  return unit.require("session", session_id).parent_session_id;
}

function tipOf(unit: Unit, sessionId: string | null): string | null {
  if (sessionId === null) return null;
  const [last] = unit.events({ sessionId, after: 0, limit: 1, newestFirst: true });
  return last === undefined ? null : eventId(last.position);
}

function refused(message: string): HarnessError {
  return new HarnessError("conflict", message, { param: "into_branch_id" });
}

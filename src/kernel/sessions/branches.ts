/** What commands ask about branches before they use or close them. */

import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { BranchRecord } from "../kinds/branch.ts";

export function assertOpen({ id, state, merged_into }: BranchRecord): void {
  if (state === undefined) return;
  const where = merged_into === null ? "" : ` into ${merged_into}`;
  throw new HarnessError("conflict", `Branch ${id} is ${state}${where} and takes no more work.`, {
    details: { branch_id: id, state, merged_into },
  });
}

/** A branch that can be merged or abandoned: it is open, and not the main path of its workspace. */
export function closableBranch(unit: Unit, id: string): BranchRecord {
  const branch = unit.require("branch", id);
  assertOpen(branch);
  const workspace = unit.require("workspace", branch.workspace_id);
  if (workspace.default_branch_id !== branch.id) return branch;
  throw new HarnessError(
    "conflict",
    `Branch ${id} is the main path of workspace ${workspace.id} and stays open.`,
    {
      details: { branch_id: id, workspace_id: workspace.id },
    },
  );
}

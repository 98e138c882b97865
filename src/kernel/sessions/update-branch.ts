/** Change what a branch says about itself: where its working copy is, and its metadata. */

import type { Command } from "../core/dispatch.ts";
import type { BranchChanges, BranchRecord } from "../kinds/branch.ts";

export const updateBranch: Command<{ branchId: string; changes: BranchChanges }, BranchRecord> = {
  name: "update_branch",
  scope: "branches:write",
  decide(unit, { branchId, changes }) {
    const branch = unit.require("branch", branchId);
    if (Object.keys(changes).length === 0) return branch;
    return unit.emit(branch, "branch.updated", { changes });
  },
};

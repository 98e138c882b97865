/** Give a branch up. What was done on it stays where it is; tasks that run on it go on until they end or are canceled. */

import type { Command } from "../core/dispatch.ts";
import type { BranchRecord } from "../kinds/branch.ts";
import { closableBranch } from "./branches.ts";

export interface AbandonBranch {
  branchId: string;
  reason?: string | null | undefined;
}

export const abandonBranch: Command<AbandonBranch, BranchRecord> = {
  name: "abandon_branch",
  scope: "branches:write",
  isAllowedWithoutRoom: true,
  decide(unit, { branchId, reason = null }) {
    const branch = closableBranch(unit, branchId);
    return unit.emit(branch, "branch.abandoned", { reason });
  },
};

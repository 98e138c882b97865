/** A branch: where an alternate path of a session, task or workspace came from. */

import type { Resource } from "./resource.ts";

export type BranchKind = "workspace" | "session" | "task" | "sandbox";

export interface BranchRecord extends Resource<"branch"> {
  workspace_id: string;
  kind: BranchKind;
  base_ref: string;
  parent_branch_id: string | null;
  session_id: string | null;
  task_id: string | null;
  created_by: string | null;
  merged_into: string | null;
}

/** A branch: where an alternate path of a session, task or workspace came from, and what became of it. */

import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";

export type BranchKind = "workspace" | "session" | "task" | "sandbox";

export interface BranchRecord extends Resource<"branch"> {
  workspace_id: string;
  kind: BranchKind;
  base_ref: string;
  /** What became of it, for good. An open branch has none, and takes work. */
  state?: "merged" | "abandoned";
  parent_branch_id: string | null;
  session_id: string | null;
  task_id: string | null;
  worktree_uri?: string | null;
  created_by: string | null;
  merged_into: string | null;
}

export interface BranchChanges {
  worktree_uri?: string | null;
  metadata?: JsonObject;
}

const changeable: MembersOf<BranchChanges> = {
  worktree_uri: true,
  metadata: true,
};

export function foldBranch(branch: BranchRecord, event: KernelEvent): BranchRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "branch.updated":
      return { ...branch, ...picked(event.payload.changes, changeable), updated_at: at };
    case "branch.merged":
      return { ...branch, state: "merged", merged_into: event.payload.into_branch_id, updated_at: at };
    case "branch.abandoned":
      return { ...branch, state: "abandoned", updated_at: at };
    default:
      return branch;
  }
}

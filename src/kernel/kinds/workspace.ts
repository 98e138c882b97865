/** A workspace: the isolation boundary for sessions, files, tools and secrets. */

import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";
import { laterOf } from "./session.ts";

export interface WorkspaceRecord extends Resource<"workspace"> {
  name: string;
  root: string;
  default_branch_id: string | null;
  capabilities: string[];
  quota_id: string | null;
  /** The last of its events that left the log by age. */
  trimmed_through_event_id?: string;
}

export interface WorkspaceChanges {
  name?: string;
  capabilities?: string[];
  quota_id?: string | null;
  metadata?: JsonObject;
}

const changeable: MembersOf<WorkspaceChanges> = {
  name: true,
  capabilities: true,
  quota_id: true,
  metadata: true,
};

export function foldWorkspace(workspace: WorkspaceRecord, event: KernelEvent): WorkspaceRecord {
  if (event.event === "vendor.bridle.workspace.trimmed") {
    return { ...workspace, trimmed_through_event_id: laterOf(workspace, event.payload) };
  }
  if (event.event !== "vendor.bridle.workspace.updated") return workspace;
  return { ...workspace, ...picked(event.payload.changes, changeable), updated_at: event.createdAt };
}

/** A permission request: what a task wants to do, and what a person said to it. */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { KernelEvent } from "../events.ts";
import type { Resource } from "./resource.ts";

/** What was decided, by whom. A decision nobody made (in time, or at all) is said as what it is. */
export type PermissionResponse = {
  approved: boolean;
  decision: "approved" | "denied" | "timeout" | "canceled";
  reason: string | null;
  reviewer: string | null;
  decided_by: string;
  decided_at: string;
  answer?: JsonValue;
};

export interface PermissionRequestRecord extends Resource<"permission_request"> {
  workspace_id: string;
  session_id: string;
  task_id: string;
  status: "pending" | "approved" | "denied";
  source: "hitl";
  /** The step of the run that waits for the answer. */
  step: string;
  action: JsonValue;
  request: JsonObject;
  response: PermissionResponse | null;
  receipt_id: string | null;
  expires_at: string;
}

export function foldPermissionRequest(
  request: PermissionRequestRecord,
  event: KernelEvent,
): PermissionRequestRecord {
  if (event.event !== "tool.approved" && event.event !== "tool.denied") return request;
  return {
    ...request,
    status: event.event === "tool.approved" ? "approved" : "denied",
    response: event.payload.response,
    receipt_id: event.payload.receipt_id,
    updated_at: event.createdAt,
  };
}

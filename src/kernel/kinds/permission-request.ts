/**
 * A permission request: what a task wants to do, whom it asked, and what a person said to it. Approvers are asked through a
 * gateway, each in an exchange of their own; the record holds all of them, so that they cannot contradict each other.
 */

import type { ApprovalProof } from "../../harp/core/proof.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { closed, type Exchange, exchangesOf, foldExchanges } from "./exchange.ts";
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
  metadata?: JsonObject;
  /** What is to be done instead of what was asked for. */
  modified_input?: JsonValue;
  /** The signatures that it rests on. */
  proof?: ApprovalProof;
};

/** What became of an approval when the moment had come: it was used, once, or it was refused. */
export type ApprovalUse = { used_at: string; refusal: { code: string; message: string } | null };

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
  /** Recognizes exactly what is to be done, secrets included, to those who have the server's key. */
  binding?: string;
  exchanges?: Exchange[];
  use?: ApprovalUse;
  response: PermissionResponse | null;
  receipt_id: string | null;
  expires_at: string;
}

export function foldPermissionRequest(
  request: PermissionRequestRecord,
  event: KernelEvent,
): PermissionRequestRecord {
  const updated_at = event.createdAt;
  switch (event.event) {
    case "tool.approved":
    case "tool.denied":
      return {
        ...request,
        status: event.event === "tool.approved" ? "approved" : "denied",
        response: event.payload.response,
        receipt_id: event.payload.receipt_id,
        exchanges: exchangesOf(request).map((exchange) => closed(exchange, "the request is decided")),
        updated_at,
      };
    case "vendor.bridle.approval.used":
      return {
        ...request,
        use: event.payload.use,
        exchanges: spent(exchangesOf(request), event.payload.use),
      };
    default:
      return foldExchanges(request, event);
  }
}

function spent(exchanges: readonly Exchange[], { refusal }: ApprovalUse): Exchange[] {
  return exchanges.map((exchange) => {
    if (exchange.state !== "APPROVED") return exchange;
    return refusal === null
      ? { ...exchange, state: "EXECUTED" }
      : { ...exchange, state: "EXPIRED", reason: refusal.message };
  });
}

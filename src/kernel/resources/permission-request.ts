/**
 * A permission request: what a task wants to do, whom it asked, and what a person said to it. Approvers are asked through a
 * gateway, each in an exchange of their own; the record holds all of them, so that they cannot contradict each other.
 */

import type { Decision } from "../../approvals/decision.ts";
import type { EnforcerState } from "../../approvals/enforcement.ts";
import type { ApprovalProof } from "../../approvals/proof.ts";
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
  /** The signatures that it rests on. */
  proof?: ApprovalProof;
};

/** One approver, asked once. The artifact that was sealed for them is made again from this and from the request. */
export type Exchange = {
  /** HARP's `requestId`. */
  request_id: string;
  approver_id: string;
  artifact_hash: string;
  salt: string;
  created_at: string;
  expires_at: string;
  state: EnforcerState;
  /** Why it is over without a decision that counts, or has not reached the gateway yet. */
  reason: string | null;
  /** Whether the gateway still has to be told that it is over. */
  is_settled: boolean;
  /** How many decisions before it, in a row, did not count. */
  refusals: number;
  decision: Decision | null;
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

export function exchangesOf({ exchanges = [] }: PermissionRequestRecord): readonly Exchange[] {
  return exchanges;
}

/** An exchange that can still be decided. */
export function isLive({ state }: Exchange): boolean {
  return state === "CREATED" || state === "AWAITING_DECISION";
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
    case "vendor.bridle.approval.requested":
      return { ...request, exchanges: withNew(request, event.payload.exchange), updated_at };
    case "vendor.bridle.approval.submitted":
      return withExchange(request, event.payload.request_id, updated_at, (exchange) =>
        exchange.state === "CREATED" ? { ...exchange, state: "AWAITING_DECISION", reason: null } : exchange,
      );
    case "vendor.bridle.approval.delayed":
      return withExchange(request, event.payload.request_id, updated_at, (exchange) => ({
        ...exchange,
        reason: event.payload.problem,
      }));
    case "vendor.bridle.approval.decided": {
      const { request_id, decision } = event.payload;
      const state = decision.decision === "allow" ? "APPROVED" : "DENIED";
      return withExchange(request, request_id, updated_at, (exchange) => ({
        ...exchange,
        state,
        decision,
        is_settled: true,
      }));
    }
    case "vendor.bridle.approval.closed":
      return withExchange(request, event.payload.request_id, updated_at, (exchange) =>
        closed(exchange, event.payload.reason),
      );
    case "vendor.bridle.approval.settled":
      return withExchange(request, event.payload.request_id, updated_at, (exchange) => ({
        ...exchange,
        is_settled: true,
      }));
    case "vendor.bridle.approval.used":
      return {
        ...request,
        use: event.payload.use,
        exchanges: spent(exchangesOf(request), event.payload.use),
      };
    default:
      return request;
  }
}

/** It takes the place of those before it that came to nothing, so the record does not grow with every new try. */
function withNew(request: PermissionRequestRecord, added: Exchange): Exchange[] {
  const isReplaced = ({ approver_id, state, is_settled }: Exchange) =>
    approver_id === added.approver_id && state === "EXPIRED" && is_settled;
  return [...exchangesOf(request).filter((exchange) => !isReplaced(exchange)), added];
}

/** What the gateway was never told of needs no telling either. */
function closed(exchange: Exchange, reason: string): Exchange {
  if (!isLive(exchange)) return exchange;
  return { ...exchange, state: "EXPIRED", reason, is_settled: exchange.state === "CREATED" };
}

function spent(exchanges: readonly Exchange[], { refusal }: ApprovalUse): Exchange[] {
  return exchanges.map((exchange) => {
    if (exchange.state !== "APPROVED") return exchange;
    return refusal === null
      ? { ...exchange, state: "EXECUTED" }
      : { ...exchange, state: "EXPIRED", reason: refusal.message };
  });
}

function withExchange(
  request: PermissionRequestRecord,
  requestId: string,
  updated_at: string,
  change: (exchange: Exchange) => Exchange,
): PermissionRequestRecord {
  const exchanges = exchangesOf(request).map((exchange) =>
    exchange.request_id === requestId ? change(exchange) : exchange,
  );
  return { ...request, exchanges, updated_at };
}

/** When somebody has to look after its exchanges: at once, when the first of them expires, or never again. */
export function permissionWakeAt(request: PermissionRequestRecord): number | null {
  const { status, created_at } = request;
  const exchanges = exchangesOf(request);
  const isOwed = exchanges.some(
    ({ state, is_settled }) => state === "CREATED" || (!is_settled && state === "EXPIRED"),
  );
  if (isOwed) return Date.parse(created_at);
  if (status !== "pending") return null;
  const open = exchanges.filter(isLive).map(({ expires_at }) => Date.parse(expires_at));
  return open.length === 0 ? Date.parse(created_at) : Math.min(...open);
}

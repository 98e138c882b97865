/**
 * Exchanges: how approvers are asked about something, each in an exchange of their own. A permission request of a task has
 * them, and so has a change that needs the consent of approvers.
 */

import type { Decision } from "../../harp/core/decision.ts";
import type { EnforcerState } from "../../harp/core/enforcement.ts";
import type { KernelEvent } from "../core/events.ts";

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

/** What approvers are asked about. */
export interface WithExchanges {
  status: "pending" | "approved" | "denied";
  created_at: string;
  updated_at: string;
  exchanges?: Exchange[];
}

export function exchangesOf({ exchanges = [] }: Pick<WithExchanges, "exchanges">): readonly Exchange[] {
  return exchanges;
}

/** An exchange that can still be decided. */
export function isLive({ state }: Exchange): boolean {
  return state === "CREATED" || state === "AWAITING_DECISION";
}

export function foldExchanges<R extends WithExchanges>(request: R, event: KernelEvent): R {
  const updated_at = event.createdAt;
  switch (event.event) {
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
    default:
      return request;
  }
}

/** It takes the place of those before it that came to nothing, so the record does not grow with every new try. */
function withNew(request: WithExchanges, added: Exchange): Exchange[] {
  const isReplaced = ({ approver_id, state, is_settled }: Exchange) =>
    approver_id === added.approver_id && state === "EXPIRED" && is_settled;
  return [...exchangesOf(request).filter((exchange) => !isReplaced(exchange)), added];
}

/** What the gateway was never told of needs no telling either. */
export function closed(exchange: Exchange, reason: string): Exchange {
  if (!isLive(exchange)) return exchange;
  return { ...exchange, state: "EXPIRED", reason, is_settled: exchange.state === "CREATED" };
}

function withExchange<R extends WithExchanges>(
  request: R,
  requestId: string,
  updated_at: string,
  change: (exchange: Exchange) => Exchange,
): R {
  const exchanges = exchangesOf(request).map((exchange) =>
    exchange.request_id === requestId ? change(exchange) : exchange,
  );
  return { ...request, exchanges, updated_at };
}

/** When somebody has to look after its exchanges: at once, when the first of them expires, or never again. */
export function exchangesWakeAt(request: WithExchanges): number | null {
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

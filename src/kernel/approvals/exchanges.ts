/**
 * Whom a permission request is put to: every approver that its policy names, each in an exchange of their own, so that one
 * approver's answer neither hides nor replaces another's. What cannot be decided any more is asked again while the request waits.
 */

import { randomBytes } from "node:crypto";
import { timestamp } from "../core/clock.ts";
import type { Unit } from "../core/unit.ts";
import { type Exchange, exchangesOf, isLive } from "../kinds/exchange.ts";
import { artifactFor } from "./artifact.ts";
import { findRegistry } from "./registry.ts";
import { type ApprovalSubject, type AskedPolicies, askedApprovers } from "./subjects.ts";

/** What is left of a request's time must be enough for somebody to look at it. */
const exchangeMsMin = 1000;
/** How often an approver is asked again after a decision that did not count; a gateway could go on for ever. */
const refusalsMax = 5;
const saltBytes = 16;

/** Why an exchange is over, where somebody has to tell it apart. */
export const refusedDecision = "a decision came that does not count";

/** Asks whoever has to be asked and is not; takes back what is out of date. Gives the request as it is then. */
export function openExchanges(
  unit: Unit,
  request: ApprovalSubject,
  policies: AskedPolicies,
): ApprovalSubject {
  const nowMs = unit.deps.clock.now();
  const registry = findRegistry(unit);
  const eligible = askedApprovers(registry?.keys ?? [], policies, nowMs);
  let current: ApprovalSubject = request;
  for (const exchange of exchangesOf(request).filter(isLive)) {
    const { request_id, approver_id, expires_at } = exchange;
    if (Date.parse(expires_at) <= nowMs) current = close(unit, current, request_id, "nobody decided in time");
    else if (!eligible.has(approver_id)) current = close(unit, current, request_id, "no longer an approver");
  }
  for (const approverId of eligible.keys()) {
    if (mayAsk(current, approverId)) current = ask(unit, current, approverId, nowMs);
  }
  return current;
}

export function close<S extends ApprovalSubject>(
  unit: Unit,
  request: S,
  requestId: string,
  reason: string,
): S {
  return unit.emit(request, "vendor.bridle.approval.closed", { request_id: requestId, reason });
}

function mayAsk(request: ApprovalSubject, approverId: string): boolean {
  const own = exchangesOf(request).filter(({ approver_id }) => approver_id === approverId);
  if (own.some((exchange) => isLive(exchange) || exchange.decision !== null)) return false;
  return (own.at(-1)?.refusals ?? 0) < refusalsMax;
}

function ask(unit: Unit, request: ApprovalSubject, approverId: string, nowMs: number): ApprovalSubject {
  const expiresMs = Math.min(Date.parse(request.expires_at), nowMs + unit.deps.approvals.exchangeMsMax);
  if (expiresMs - nowMs < exchangeMsMin) return request;
  const before = exchangesOf(request).findLast(({ approver_id }) => approver_id === approverId);
  const terms = {
    request_id: nextRequestId(request),
    salt: randomBytes(saltBytes).toString("base64url"),
    created_at: timestamp(nowMs),
    expires_at: timestamp(expiresMs),
  };
  const { artifactHash } = artifactFor(request, terms);
  const exchange: Exchange = {
    ...terms,
    approver_id: approverId,
    artifact_hash: artifactHash,
    state: "CREATED",
    reason: null,
    is_settled: false,
    refusals: before?.reason === refusedDecision ? before.refusals + 1 : 0,
    decision: null,
  };
  return unit.emit(request, "vendor.bridle.approval.requested", { exchange });
}

/** `perm_….3`: from the name of an exchange to the request that it is about, and never the same name twice. */
function nextRequestId(request: ApprovalSubject): string {
  const last = exchangesOf(request).reduce(
    (most, { request_id }) => Math.max(most, Number(request_id.split(".")[1] ?? 0)),
    0,
  );
  return `${request.id}.${last + 1}`;
}

export function subjectIdOf(requestId: string): string {
  return requestId.split(".")[0] ?? requestId;
}

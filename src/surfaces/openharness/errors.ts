/** Every refusal as OpenHarness says it (§13): one table, for every transport. */

import { type ErrorCode, HarnessError, refusalFor } from "../../kernel/core/errors.ts";
import type { Failure } from "../../kernel/kinds/outcome.ts";
import { UnknownDirective } from "../../kernel/openharness/accept-turn.ts";
import { ContinuationInvalid } from "../../kernel/openharness/continuations.ts";
import { AttachmentUnavailable } from "../../kernel/openharness/intents.ts";
import { UnknownSop } from "../../kernel/openharness/sops.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import type { ErrorObject } from "./wire.ts";

/** The protocol's codes, and whether the same request can succeed later. */
const retryable = {
  invalid_request: false,
  protocol_version_unsupported: false,
  unauthenticated: false,
  permission_denied: false,
  unknown_sop: false,
  unknown_action_type: false,
  continuation_invalid: false,
  idempotency_conflict: false,
  attachment_unavailable: false,
  policy_denied: false,
  rate_limited: true,
  engine_timeout: true,
  engine_unavailable: true,
  internal_error: false,
} as const satisfies Record<string, boolean>;

type WireCode = keyof typeof retryable;

const kernelErrors: Record<ErrorCode, WireCode> = {
  invalid_request: "invalid_request",
  invalid_state_transition: "policy_denied",
  unauthenticated: "unauthenticated",
  permission_denied: "permission_denied",
  resource_not_found: "invalid_request",
  conflict: "policy_denied",
  idempotency_key_reused: "idempotency_conflict",
  cursor_expired: "invalid_request",
  payload_too_large: "invalid_request",
  policy_violation: "policy_denied",
  resource_locked: "engine_unavailable",
  unsupported_protocol_version: "protocol_version_unsupported",
  rate_limited: "rate_limited",
  client_closed_request: "engine_unavailable",
  internal_error: "internal_error",
  upstream_unavailable: "engine_unavailable",
  service_unavailable: "engine_unavailable",
  // Every request has an id, under which it is recognized when it comes again.
  write_outcome_unknown: "engine_unavailable",
  deadline_exceeded: "engine_timeout",
};

/** Refusals that have a code of their own here, although the kernel sees others like them. */
const ownCodes: readonly [new (...args: never[]) => HarnessError, WireCode][] = [
  [ContinuationInvalid, "continuation_invalid"],
  [UnknownSop, "unknown_sop"],
  [UnknownDirective, "unknown_action_type"],
  [AttachmentUnavailable, "attachment_unavailable"],
];

/** What the transport says too, for those who do not read the body: proxies, and clients that have to wait. */
const httpStatuses: Partial<Record<ErrorCode, number>> = {
  unauthenticated: 401,
  payload_too_large: 413,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
  write_outcome_unknown: 503,
};

/** The body is of a type that is not read here. */
export class UnreadableBody extends HarnessError {
  constructor() {
    super("invalid_request", "Send the message as Content-Type: application/json.", {
      param: "Content-Type",
    });
  }
}

/** The address is one for WebSockets. */
export class UpgradeRequired extends HarnessError {
  constructor() {
    super("invalid_request", "This address takes WebSocket upgrades only.", { param: "Upgrade" });
  }
}

export interface WireError {
  error: ErrorObject;
  http: number;
  retryAfterSeconds: number | null;
  /** True for what is our fault and belongs in the log. */
  unexpected: boolean;
}

/** What is told of a refusal for programs to read; everything else about it may quote what was sent. */
const toldDetails = ["required_scope", "request_id", "quota_id", "retry_after_seconds"] as const;

export function toWireError(thrown: unknown, redactor: Redactor): WireError {
  const given = refusalFor(thrown);
  const known = given?.code === "internal_error" ? null : given;
  const refusal = known ?? new HarnessError("internal_error", "Something went wrong in the engine.");
  const code = ownCodes.find(([kind]) => refusal instanceof kind)?.[1] ?? kernelErrors[refusal.code];
  const seconds = refusal.details.retry_after_seconds;
  return {
    error: redactor.value(errorObject(code, refusal.message, detailsOf(refusal))),
    http: statusOf(refusal),
    retryAfterSeconds: typeof seconds === "number" ? seconds : null,
    unexpected: known === null,
  };
}

function statusOf(refusal: HarnessError): number {
  if (refusal instanceof UnreadableBody) return 415;
  return refusal instanceof UpgradeRequired ? 426 : (httpStatuses[refusal.code] ?? 200);
}

function errorObject(code: WireCode, message: string, details: Record<string, unknown>): ErrorObject {
  const isEmpty = Object.keys(details).length === 0;
  return { code, message, retryable: retryable[code], ...(isEmpty ? {} : { details }) };
}

/** Fields are named as shells know them: below `request`. */
function detailsOf({ param, details }: HarnessError): Record<string, unknown> {
  const told = toldDetails.flatMap((name) => (details[name] === undefined ? [] : [[name, details[name]]]));
  return {
    ...(param === null ? {} : { field: param.replace(/^request\./, "") }),
    ...Object.fromEntries(told),
  };
}

/** How a run can fail, as far as a shell needs to tell the ways apart. */
const failureCodes: Readonly<Record<string, WireCode>> = {
  rejected: "policy_denied",
  approval_denied: "policy_denied",
  policy_violation: "policy_denied",
  deadline_exceeded: "engine_timeout",
};

/** A run that ended without success. What its code threw by accident is for operators, not for the person at the shell. */
export function failedRun(runId: string, failure: Failure | null): ErrorObject {
  if (failure === null) {
    return fault("policy_denied", "The run was canceled.", { run_id: runId, failure_code: "canceled" });
  }
  const message = failure.code === "agent_error" ? "The run failed." : failure.message;
  const code = failureCodes[failure.code] ?? "internal_error";
  return fault(code, message, { run_id: runId, failure_code: failure.code });
}

/** The run is over: the same request again gives the same answer. */
function fault(code: WireCode, message: string, details: Record<string, unknown>): ErrorObject {
  return { ...errorObject(code, message, details), retryable: false };
}

/** The one error taxonomy. Surfaces map codes to their wire, each with one total table; nothing here knows HTTP. */

import { StoreUnavailable } from "../../store/port.ts";

export const errorTypes = {
  invalid_request: "request_error",
  invalid_state_transition: "request_error",
  unauthenticated: "auth_error",
  permission_denied: "permission_error",
  resource_not_found: "not_found_error",
  conflict: "conflict_error",
  idempotency_key_reused: "conflict_error",
  cursor_expired: "request_error",
  payload_too_large: "request_error",
  policy_violation: "permission_error",
  resource_locked: "conflict_error",
  unsupported_protocol_version: "request_error",
  rate_limited: "rate_limit_error",
  client_closed_request: "request_error",
  internal_error: "server_error",
  upstream_unavailable: "upstream_error",
  service_unavailable: "server_error",
  write_outcome_unknown: "server_error",
  deadline_exceeded: "runtime_error",
} as const satisfies Record<string, string>;

export type ErrorCode = keyof typeof errorTypes;

export interface ErrorDetails {
  /** The field of the request that is wrong. */
  param?: string;
  details?: Record<string, unknown>;
}

/** Everything the harness refuses is one of these; anything else thrown is a bug and becomes `internal_error`. */
export class HarnessError extends Error {
  override name = "HarnessError";
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly details: Record<string, unknown>;

  constructor(
    code: ErrorCode,
    message: string,
    { param, details }: ErrorDetails = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.param = param ?? null;
    this.details = details ?? {};
  }
}

/** The disk is the reason why a request failed; the client may repeat it. */
export function cannotWrite(reason: string, cause?: unknown): HarnessError {
  const message = `Cannot write to the database (${reason}). The request was not applied.`;
  return new HarnessError("service_unavailable", message, { details: { reason } }, { cause });
}

/** What the harness refuses, and a database that could not be read; null for what is a bug. */
export function refusalFor(error: unknown): HarnessError | null {
  if (error instanceof HarnessError) return error;
  return error instanceof StoreUnavailable ? cannotRead(error.fault ?? "the read failed", error) : null;
}

export function cannotRead(reason: string, cause?: unknown): HarnessError {
  const message = `Cannot read the database (${reason}). Repeat the request later.`;
  return new HarnessError("service_unavailable", message, { details: { reason } }, { cause });
}

/** The disk failed in the middle of a commit. */
export function outcomeUnknown(cause: unknown): HarnessError {
  const message =
    "The database failed while it wrote the request, which may or may not have been applied. Send it again with the same Idempotency-Key if it had one; otherwise look first.";
  return new HarnessError("write_outcome_unknown", message, {}, { cause });
}

/** Whether the same work may succeed later, because others were faster or the disk was at fault. */
export function isTransient(error: unknown): boolean {
  const refusal = refusalFor(error);
  if (refusal === null) return false;
  return ["service_unavailable", "write_outcome_unknown", "conflict"].includes(refusal.code);
}

/** Nothing was written, and the same write succeeds once the disk works again. */
export function isRefusedByDisk(error: unknown): boolean {
  return error instanceof HarnessError && error.code === "service_unavailable";
}

/** The same answer for what is absent and for what the caller may not see. */
export function notFound(kind: string, id: string): HarnessError {
  const [first = "", ...rest] = kind.replaceAll("_", " ");
  return new HarnessError("resource_not_found", `${first.toUpperCase()}${rest.join("")} not found: ${id}`);
}

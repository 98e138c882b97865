/** Every refusal as OPVS says it: one table, read by all three bindings. */

import { type ErrorCode, HarnessError, refusalFor } from "../../kernel/core/errors.ts";
import type { Redactor } from "../../policy/redact/redact.ts";

/** The numbers that gRPC gives its statuses. */
export const grpcStatus = {
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatus = keyof typeof grpcStatus;

/** How one kind of refusal is said on each binding. */
interface Saying {
  jsonRpc: number;
  status: GrpcStatus;
  http: number;
}

const invalidParams: Saying = { jsonRpc: -32602, status: "INVALID_ARGUMENT", http: 400 };

/** The protocol's own errors, by the reason that names them. */
const opvsErrors = {
  TASK_NOT_FOUND: { jsonRpc: -32001, status: "NOT_FOUND", http: 404 },
  TASK_NOT_CANCELABLE: { jsonRpc: -32002, status: "FAILED_PRECONDITION", http: 409 },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { jsonRpc: -32003, status: "UNIMPLEMENTED", http: 400 },
  UNSUPPORTED_OPERATION: { jsonRpc: -32004, status: "UNIMPLEMENTED", http: 400 },
  CONTENT_TYPE_NOT_SUPPORTED: { jsonRpc: -32005, status: "INVALID_ARGUMENT", http: 415 },
  INVALID_AGENT_RESPONSE: { jsonRpc: -32006, status: "INTERNAL", http: 502 },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { jsonRpc: -32007, status: "FAILED_PRECONDITION", http: 400 },
  EXTENSION_SUPPORT_REQUIRED: { jsonRpc: -32008, status: "FAILED_PRECONDITION", http: 400 },
  VERSION_NOT_SUPPORTED: { jsonRpc: -32009, status: "UNIMPLEMENTED", http: 400 },
} as const satisfies Record<string, Saying>;

export type OpvsReason = keyof typeof opvsErrors;

/** What the kernel refuses: with a reason of the protocol where it has one, else in plain words. */
const kernelErrors: Record<ErrorCode, OpvsReason | Saying> = {
  invalid_request: invalidParams,
  invalid_state_transition: "UNSUPPORTED_OPERATION",
  unauthenticated: { jsonRpc: -32000, status: "UNAUTHENTICATED", http: 401 },
  permission_denied: { jsonRpc: -32000, status: "PERMISSION_DENIED", http: 403 },
  resource_not_found: "TASK_NOT_FOUND",
  conflict: "UNSUPPORTED_OPERATION",
  idempotency_key_reused: invalidParams,
  cursor_expired: invalidParams,
  payload_too_large: { jsonRpc: -32602, status: "RESOURCE_EXHAUSTED", http: 413 },
  policy_violation: { jsonRpc: -32000, status: "FAILED_PRECONDITION", http: 422 },
  resource_locked: { jsonRpc: -32603, status: "ABORTED", http: 423 },
  unsupported_protocol_version: "VERSION_NOT_SUPPORTED",
  rate_limited: { jsonRpc: -32603, status: "RESOURCE_EXHAUSTED", http: 429 },
  client_closed_request: { jsonRpc: -32603, status: "CANCELLED", http: 499 },
  internal_error: { jsonRpc: -32603, status: "INTERNAL", http: 500 },
  upstream_unavailable: { jsonRpc: -32603, status: "UNAVAILABLE", http: 502 },
  service_unavailable: { jsonRpc: -32603, status: "UNAVAILABLE", http: 503 },
  write_outcome_unknown: { jsonRpc: -32603, status: "INTERNAL", http: 500 },
  deadline_exceeded: { jsonRpc: -32603, status: "DEADLINE_EXCEEDED", http: 504 },
};

/** One of the protocol's own errors. `metadata` goes along for programs to read. */
export class OpvsError extends Error {
  override name = "OpvsError";
  readonly reason: OpvsReason;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(reason: OpvsReason, message: string, metadata: Record<string, string> = {}) {
    super(message);
    this.reason = reason;
    this.metadata = metadata;
  }
}

export interface Violation {
  field: string;
  description: string;
}

/** Parameters that are wrong, all of them named. */
export class InvalidParams extends Error {
  override name = "InvalidParams";
  readonly violations: readonly Violation[];

  constructor(violations: readonly Violation[]) {
    super(
      `Invalid parameters: ${violations.map(({ field, description }) => `${field} ${description}`).join("; ")}.`,
    );
    this.violations = violations;
  }
}

/** Nothing is offered by this name or at this address. */
export class NoSuchOperation extends Error {
  override name = "NoSuchOperation";
}

const noSuchOperation: Saying = { jsonRpc: -32601, status: "UNIMPLEMENTED", http: 404 };

export const errorInfoType = "type.googleapis.com/google.rpc.ErrorInfo";
export const badRequestType = "type.googleapis.com/google.rpc.BadRequest";
const errorDomain = "a2a-protocol.org";

export type ErrorDetail =
  | { "@type": typeof errorInfoType; reason: string; domain: string; metadata: Record<string, string> }
  | { "@type": typeof badRequestType; fieldViolations: Violation[] };

/** An error, ready to be said by any binding. */
export interface WireError extends Saying {
  message: string;
  details: ErrorDetail[];
  retryAfterSeconds: number | null;
  /** True for what is our fault and belongs in the log. */
  unexpected: boolean;
}

export function toWireError(error: unknown, redactor: Redactor): WireError {
  const said = sayingOf(error);
  // An error may quote what it refuses, and that may be a secret in the wrong place.
  const { message, details } = redactor.value({ message: said.message, details: said.details });
  return { ...said, message, details };
}

function sayingOf(thrown: unknown): WireError {
  const error = refusalFor(thrown) ?? thrown;
  if (error instanceof OpvsError) return opvsError(error.reason, error.message, error.metadata);
  if (error instanceof InvalidParams) return invalid(error.message, error.violations);
  if (error instanceof NoSuchOperation) return plain(noSuchOperation, error.message);
  if (!(error instanceof HarnessError)) return internalError();
  const said = kernelErrors[error.code];
  if (typeof said === "string") return opvsError(said, error.message, textsOf(error.details));
  if (said === invalidParams && error.param !== null) {
    return invalid(error.message, [{ field: error.param, description: error.message }]);
  }
  if (error.code === "internal_error") return internalError();
  const seconds = error.details.retry_after_seconds;
  return { ...plain(said, error.message), retryAfterSeconds: typeof seconds === "number" ? seconds : null };
}

function plain(saying: Saying, message: string): WireError {
  return { ...saying, message, details: [], retryAfterSeconds: null, unexpected: false };
}

function internalError(): WireError {
  const { jsonRpc, http } = { jsonRpc: -32603, http: 500 };
  return { ...plain({ jsonRpc, status: "INTERNAL", http }, "Internal error"), unexpected: true };
}

function opvsError(reason: OpvsReason, message: string, given: Readonly<Record<string, string>>): WireError {
  const metadata = { ...given, timestamp: new Date().toISOString() };
  const detail: ErrorDetail = { "@type": errorInfoType, reason, domain: errorDomain, metadata };
  return { ...plain(opvsErrors[reason], message), details: [detail] };
}

function invalid(message: string, violations: readonly Violation[]): WireError {
  const detail: ErrorDetail = { "@type": badRequestType, fieldViolations: [...violations] };
  return { ...plain(invalidParams, message), details: [detail] };
}

/** The metadata of an ErrorInfo has only texts. */
function textsOf(details: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(details).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}

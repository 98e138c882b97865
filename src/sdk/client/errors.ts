/** Every failure is a `BridleError`, of the class that its code names. Decide by class or `code`; messages are for people. */

import type { ErrorCode } from "../../kernel/core/errors.ts";

/** What can go wrong before a server has answered, or with the answer itself. */
type LocalCode = "connection_failed" | "unreadable_answer";

export interface ErrorFacts {
  code: ErrorCode | LocalCode;
  message: string;
  /** The HTTP status; null when there was no answer. */
  status: number | null;
  /** What the server's log knows the request by. */
  requestId: string | null;
  /** The field of the request that is wrong. */
  param?: string | null;
  details?: Record<string, unknown>;
  retryAfterMs?: number | null;
  cause?: unknown;
}

export class BridleError extends Error {
  readonly code: ErrorFacts["code"];
  readonly status: number | null;
  readonly requestId: string | null;
  readonly param: string | null;
  readonly details: Record<string, unknown>;
  /** When the server says that it can be tried again. */
  readonly retryAfterMs: number | null;
  /** The page of the documentation that explains it. */
  readonly docs: string;

  constructor({ code, message, status, requestId, param, details, retryAfterMs, cause }: ErrorFacts) {
    super(message, cause === undefined ? {} : { cause });
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.param = param ?? null;
    this.details = details ?? {};
    this.retryAfterMs = retryAfterMs ?? null;
    this.docs = isLocal(code) ? "docs/reference/client.md" : `docs/errors/${code}.md`;
  }
}

export class InvalidRequest extends BridleError {}
export class InvalidState extends BridleError {}
export class Unauthenticated extends BridleError {}
export class PermissionDenied extends BridleError {}
export class PolicyViolation extends BridleError {}
export class NotFound extends BridleError {}
export class Conflict extends BridleError {}
export class IdempotencyKeyReused extends Conflict {}
export class CursorExpired extends BridleError {}
export class PayloadTooLarge extends BridleError {}
export class RateLimited extends BridleError {}
export class ServerError extends BridleError {}
export class Unavailable extends ServerError {}
export class DeadlineExceeded extends BridleError {}
/** Nobody answered, however often it was tried. */
export class ConnectionFailed extends BridleError {}
/** What answered is no server of this protocol, or what it sent is not what it said. */
export class UnreadableAnswer extends BridleError {}

const classOf: Record<ErrorFacts["code"], typeof BridleError> = {
  invalid_request: InvalidRequest,
  invalid_state_transition: InvalidState,
  unauthenticated: Unauthenticated,
  permission_denied: PermissionDenied,
  resource_not_found: NotFound,
  conflict: Conflict,
  idempotency_key_reused: IdempotencyKeyReused,
  cursor_expired: CursorExpired,
  payload_too_large: PayloadTooLarge,
  policy_violation: PolicyViolation,
  resource_locked: Conflict,
  unsupported_protocol_version: InvalidRequest,
  rate_limited: RateLimited,
  client_closed_request: InvalidRequest,
  internal_error: ServerError,
  upstream_unavailable: Unavailable,
  service_unavailable: Unavailable,
  // Every call has an idempotency key, so that it can be repeated.
  write_outcome_unknown: Unavailable,
  deadline_exceeded: DeadlineExceeded,
  connection_failed: ConnectionFailed,
  unreadable_answer: UnreadableAnswer,
};

export function errorOf(facts: ErrorFacts): BridleError {
  return new classOf[facts.code](facts);
}

/** The error in a body that says one; null when it says none. */
export function errorIn(
  body: unknown,
  status: number | null,
  retryAfterMs: number | null,
): BridleError | null {
  if (!isRecord(body) || !isRecord(body.error)) return null;
  const { code, message, param, request_id, details } = body.error;
  if (typeof code !== "string" || !isServerCode(code) || typeof message !== "string") return null;
  return errorOf({
    code,
    message,
    status,
    requestId: typeof request_id === "string" ? request_id : null,
    param: typeof param === "string" ? param : null,
    details: isRecord(details) ? details : {},
    retryAfterMs,
  });
}

/** Whether the same request may succeed a little later. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof ConnectionFailed ||
    error instanceof Unavailable ||
    error instanceof RateLimited ||
    (error instanceof UnreadableAnswer && error.status !== null && error.status >= 500)
  );
}

function isLocal(code: string): code is LocalCode {
  return code === "connection_failed" || code === "unreadable_answer";
}

function isServerCode(code: string): code is ErrorCode {
  return Object.hasOwn(classOf, code) && !isLocal(code);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

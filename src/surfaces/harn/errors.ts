/** Every error of the kernel, as the Harn Agents Protocol says it over HTTP. */

import type { FastifyError } from "fastify";
import { type ErrorCode, errorTypes, HarnessError, refusalFor } from "../../kernel/core/errors.ts";
import type { Redactor } from "../../policy/redact/redact.ts";

export const httpStatus: Record<ErrorCode, number> = {
  invalid_request: 400,
  invalid_state_transition: 400,
  unauthenticated: 401,
  permission_denied: 403,
  resource_not_found: 404,
  conflict: 409,
  idempotency_key_reused: 409,
  cursor_expired: 410,
  payload_too_large: 413,
  policy_violation: 422,
  resource_locked: 423,
  unsupported_protocol_version: 426,
  rate_limited: 429,
  client_closed_request: 499,
  internal_error: 500,
  upstream_unavailable: 502,
  service_unavailable: 503,
  write_outcome_unknown: 500,
  deadline_exceeded: 504,
};

export interface ErrorBody {
  error: {
    code: ErrorCode;
    message: string;
    type: string;
    param: string | null;
    request_id: string;
    details: Record<string, unknown>;
  };
}

export interface ErrorAnswer {
  status: number;
  body: ErrorBody;
  /** True for what is our fault and belongs in the log. */
  unexpected: boolean;
}

export function toErrorAnswer(error: unknown, requestId: string, redactor: Redactor): ErrorAnswer {
  const known = refusalFor(error) ?? fromFastify(error);
  const refusal = known ?? new HarnessError("internal_error", "Something went wrong on the server.");
  // An error may quote what it refuses, and that may be a secret in the wrong place.
  const { code, message, param, details } = redactor.value({
    code: refusal.code,
    message: refusal.message,
    param: refusal.param,
    details: refusal.details,
  });
  const status =
    known !== null && isFastifyError(error) ? (error.statusCode ?? httpStatus[code]) : httpStatus[code];
  return {
    status,
    body: { error: { code, message, type: errorTypes[code], param, request_id: requestId, details } },
    unexpected: known === null || code === "internal_error",
  };
}

function isFastifyError(error: unknown): error is FastifyError {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    error.code.startsWith("FST_")
  );
}

/** What Fastify refuses before a route is reached. Its HTTP status stays; the code is ours. */
function fromFastify(error: unknown): HarnessError | null {
  if (error instanceof SyntaxError && "statusCode" in error) {
    return new HarnessError("invalid_request", "The body is not valid JSON.");
  }
  if (!isFastifyError(error)) return null;
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new HarnessError("payload_too_large", "The body is larger than this server accepts.");
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
      return new HarnessError("invalid_request", "Send the body as Content-Type: application/json.", {
        param: "Content-Type",
      });
    case "FST_ERR_CTP_EMPTY_JSON_BODY":
    case "FST_ERR_CTP_INVALID_JSON_BODY":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new HarnessError("invalid_request", "The body is not valid JSON.");
    default:
      return error.statusCode !== undefined && error.statusCode < 500
        ? new HarnessError("invalid_request", "The request is malformed.")
        : null;
  }
}

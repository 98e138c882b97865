/** Every error as a gateway says it: what is ours by its code, what is not as an internal error and nothing else. */

import type { Logger } from "pino";
import { GatewayRefusal } from "../../harp/core/gateway-link.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { harpMediaType } from "../../harp/core/wire.ts";
import { cannotWrite, type RefusalCode, refusal } from "../../harp/gateway/refusals.ts";
import { type ErrorCode, HarnessError } from "../../kernel/core/errors.ts";
import { StoreUnavailable } from "../../store/port.ts";
import { refusalOfHarp } from "./harp-refusals.ts";

const codes: Record<ErrorCode, RefusalCode> = {
  invalid_request: "ValidationError",
  invalid_state_transition: "InvalidStateConflict",
  unauthenticated: "Unauthenticated",
  permission_denied: "Forbidden",
  resource_not_found: "RouteNotFound",
  conflict: "InvalidStateConflict",
  idempotency_key_reused: "AlreadyExistsConflict",
  cursor_expired: "ValidationError",
  payload_too_large: "PayloadTooLarge",
  policy_violation: "Forbidden",
  resource_locked: "InvalidStateConflict",
  unsupported_protocol_version: "UnsupportedVersion",
  rate_limited: "RateLimited",
  client_closed_request: "ServiceUnavailable",
  internal_error: "InternalError",
  upstream_unavailable: "ServiceUnavailable",
  service_unavailable: "ServiceUnavailable",
  write_outcome_unknown: "InternalError",
  deadline_exceeded: "ServiceUnavailable",
};

export type ToRefusal = (error: unknown, requestId: string) => GatewayRefusal;

/** Logs what was our fault; the caller is told that there was one. */
export function refusalsTo(logger: Logger): ToRefusal {
  return (error, requestId) => {
    const known = knownRefusal(error);
    if (known !== null && known.code !== "InternalError") return known;
    logger.error(
      { event: "gateway.failed", err: error, request_id: requestId },
      "A request to the gateway failed",
    );
    // Over a WebSocket there is no header to say it in.
    return refusal("InternalError", "Something went wrong in the gateway.", { serverRequestId: requestId });
  };
}

function knownRefusal(error: unknown): GatewayRefusal | null {
  if (error instanceof GatewayRefusal) return error;
  if (error instanceof HarpError) return refusalOfHarp(error);
  if (error instanceof StoreUnavailable) return cannotWrite(error);
  if (error instanceof HarnessError) {
    const { code, message, param, details } = error;
    const { retry_after_seconds: retryAfterSeconds } = details;
    const shown = typeof retryAfterSeconds === "number" ? { retryAfterSeconds } : {};
    return refusal(codes[code], message, { ...shown, ...(param === null ? {} : { param }) });
  }
  return refusalOfFastify(error);
}

/** What is refused before a route is reached. */
function refusalOfFastify(error: unknown): GatewayRefusal | null {
  const { code, statusCode }: { code?: unknown; statusCode?: unknown } = Object(error);
  if (typeof code !== "string" || !code.startsWith("FST_")) return null;
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return tooLarge();
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return refusal("UnsupportedMediaType", `Send the body as Content-Type: ${harpMediaType}.`);
  }
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH") {
    return refusal("MalformedJson", "The body is not as long as was announced.");
  }
  if (statusCode === 404 || statusCode === 414) return noSuchRoute();
  const isTheirs = typeof statusCode === "number" && statusCode < 500;
  return isTheirs ? refusal("ValidationError", "The request is malformed.") : null;
}

export function noSuchRoute(): GatewayRefusal {
  return refusal("RouteNotFound", "No route of HARP has this method and path.");
}

export function tooLarge(): GatewayRefusal {
  return refusal("PayloadTooLarge", "The body is larger than this gateway takes.");
}

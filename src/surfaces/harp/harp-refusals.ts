/** What the rules of HARP refuse, as an error of this binding: its own code stands in the details. */

import type { GatewayRefusal } from "../../harp/core/gateway-link.ts";
import type { HarpError, HarpErrorCode } from "../../harp/core/harp-error.ts";
import { type RefusalCode, refusal } from "../../harp/gateway/refusals.ts";

const codes: Record<HarpErrorCode, RefusalCode> = {
  HARP_ERR_CANONICALIZATION: "ValidationError",
  HARP_ERR_HASH_MISMATCH: "HashMismatch",
  HARP_ERR_SIGNATURE_INVALID: "Forbidden",
  HARP_ERR_EXPIRED: "ValidationError",
  HARP_ERR_REPLAY: "AlreadyExistsConflict",
  HARP_ERR_SCOPE: "Forbidden",
  HARP_ERR_POLICY_DENY: "Forbidden",
  HARP_ERR_TRANSPORT: "ValidationError",
  HARP_ERR_UNSUPPORTED: "ValidationError",
  HARP_SESSION_ERR_SESSION_CLOSED: "InvalidStateConflict",
  HARP_SESSION_ERR_INVALID_STATE: "ValidationError",
  HARP_SESSION_ERR_DUPLICATE_SNAPSHOT: "AlreadyExistsConflict",
  HARP_PROMPT_ERR_TARGET_UNSUPPORTED: "ValidationError",
  HARP_PROMPT_ERR_RATE_LIMIT: "RateLimited",
  HARP_PROMPT_ERR_TOO_LARGE: "PayloadTooLarge",
};

/** The same code can be said of a value that is wrong and of one that comes at the wrong time. */
const codesByReason: Readonly<Record<string, RefusalCode>> = {
  session_id_reused: "AlreadyExistsConflict",
  too_large: "PayloadTooLarge",
};

/** Whether it is worth another try is what this binding says of its own code: what is malformed stays so. */
export function refusalOfHarp({ code, message, details }: HarpError): GatewayRefusal {
  const { reason, retryAfterSeconds } = details;
  const byReason = typeof reason === "string" ? codesByReason[reason] : undefined;
  return refusal(byReason ?? codes[code], message, {
    harpCode: code,
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof retryAfterSeconds === "number" ? { retryAfterSeconds } : {}),
  });
}

/** Everything that a gateway refuses, and what that means over HTTP: one table, outside of which nothing compiles. */

import type { StoreUnavailable } from "../../store/port.ts";
import { GatewayRefusal } from "../core/gateway-link.ts";

interface Meaning {
  status: number;
  /** Whether the same request can succeed later. */
  isRetryable: boolean;
  /** The error of HARP-CORE that it comes to, where there is one. */
  harpCode?: `HARP_ERR_${string}`;
}

const table = {
  MalformedJson: { status: 400, isRetryable: false },
  ValidationError: { status: 400, isRetryable: false },
  Unauthenticated: { status: 401, isRetryable: false },
  Forbidden: { status: 403, isRetryable: false },
  InsecureTransport: { status: 403, isRetryable: false },
  ExchangeNotFound: { status: 404, isRetryable: false },
  ExchangeWithdrawn: { status: 404, isRetryable: false },
  InboxItemNotFound: { status: 404, isRetryable: false },
  MessageNotFound: { status: 404, isRetryable: false },
  EnforcerNotFound: { status: 404, isRetryable: false },
  PairingNotFound: { status: 404, isRetryable: false },
  SessionNotFound: { status: 404, isRetryable: false },
  RouteNotFound: { status: 404, isRetryable: false },
  MethodNotAllowed: { status: 405, isRetryable: false },
  AlreadyExistsConflict: { status: 409, isRetryable: false },
  AlreadyDecidedConflict: { status: 409, isRetryable: false },
  ExchangeExpiredConflict: { status: 409, isRetryable: false, harpCode: "HARP_ERR_EXPIRED" },
  ExchangeCancelledConflict: { status: 409, isRetryable: false },
  InvalidStateConflict: { status: 409, isRetryable: false },
  PairingCompletedConflict: { status: 409, isRetryable: false },
  PayloadTooLarge: { status: 413, isRetryable: false },
  UnsupportedMediaType: { status: 415, isRetryable: false, harpCode: "HARP_ERR_UNSUPPORTED" },
  PairingRevoked: { status: 422, isRetryable: false },
  NoApproverAvailable: { status: 422, isRetryable: true },
  ArtifactExpired: { status: 422, isRetryable: false, harpCode: "HARP_ERR_EXPIRED" },
  ArtifactHashMismatch: { status: 422, isRetryable: false, harpCode: "HARP_ERR_HASH_MISMATCH" },
  HashMismatch: { status: 422, isRetryable: false, harpCode: "HARP_ERR_HASH_MISMATCH" },
  ExpiryTooFar: { status: 422, isRetryable: false },
  UnsupportedVersion: { status: 426, isRetryable: false, harpCode: "HARP_ERR_UNSUPPORTED" },
  RateLimited: { status: 429, isRetryable: true },
  InternalError: { status: 500, isRetryable: true },
  EnforcerOffline: { status: 503, isRetryable: true, harpCode: "HARP_ERR_TRANSPORT" },
  ServiceUnavailable: { status: 503, isRetryable: true, harpCode: "HARP_ERR_TRANSPORT" },
} as const satisfies Record<string, Meaning>;

export type RefusalCode = keyof typeof table;

export const refusals: Readonly<Record<RefusalCode, Meaning>> = table;

/** `details` go to whoever asked: never anything that they did not send or may not know. */
export function refusal(
  code: RefusalCode,
  message: string,
  details: Record<string, unknown> = {},
): GatewayRefusal {
  const { status, isRetryable, harpCode } = refusals[code];
  return new GatewayRefusal(code, status, message, {
    isRetryable,
    details: { retryable: isRetryable, ...(harpCode === undefined ? {} : { harpCode }), ...details },
  });
}

/** The same answer for what is absent and for what is somebody else's. */
export function exchangeNotFound(): GatewayRefusal {
  return refusal("ExchangeNotFound", "No exchange of this requestId is known to you here.");
}

export function messageNotFound(): GatewayRefusal {
  return refusal("MessageNotFound", "No message of this msgId was sent to you about this requestId.");
}

export function cannotWrite({ fault }: StoreUnavailable): GatewayRefusal {
  const reason = fault ?? "the write failed";
  const message = `Cannot write to the gateway's database (${reason}). The request was not applied.`;
  return refusal("ServiceUnavailable", message);
}

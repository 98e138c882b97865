/** Everything that HARP refuses, by the protocol's own codes; one table says what is worth another try. */

/** Whether the same thing, sent again, could fare better. What expired is asked anew, under another request id. */
const retryableOf = {
  HARP_ERR_CANONICALIZATION: false,
  HARP_ERR_HASH_MISMATCH: false,
  HARP_ERR_SIGNATURE_INVALID: false,
  HARP_ERR_EXPIRED: false,
  HARP_ERR_REPLAY: false,
  HARP_ERR_SCOPE: false,
  HARP_ERR_POLICY_DENY: false,
  HARP_ERR_TRANSPORT: true,
  HARP_ERR_UNSUPPORTED: false,
  HARP_SESSION_ERR_SESSION_CLOSED: false,
  HARP_SESSION_ERR_INVALID_STATE: false,
  HARP_SESSION_ERR_DUPLICATE_SNAPSHOT: false,
  HARP_PROMPT_ERR_TARGET_UNSUPPORTED: false,
  HARP_PROMPT_ERR_RATE_LIMIT: true,
  HARP_PROMPT_ERR_TOO_LARGE: false,
} as const satisfies Record<string, boolean>;

export type HarpErrorCode = keyof typeof retryableOf;

export const harpErrorCodes = Object.keys(retryableOf) as readonly HarpErrorCode[];

/** The error object of CORE: what goes over a wire, and into an audit record. */
export interface HarpErrorObject {
  code: HarpErrorCode;
  message: string;
  retryable: boolean;
  details?: Record<string, unknown>;
}

/** Messages and details name fields and reasons, never what was reviewed, nor keys. */
export class HarpError extends Error {
  override name = "HarpError";
  readonly code: HarpErrorCode;
  readonly retryable: boolean;
  readonly details: Record<string, unknown>;

  constructor(
    code: HarpErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.retryable = retryableOf[code];
    this.details = details;
  }

  toJSON(): HarpErrorObject {
    const { code, message, retryable, details } = this;
    return { code, message, retryable, ...(Object.keys(details).length > 0 && { details }) };
  }
}

/** Everything that can go wrong for a shell, as one class with a code; what a handler throws is an outcome and not here. */

/** What the shell itself says. Errors of the engine keep the engine's own codes. */
export type ShellErrorCode =
  | "malformed_response"
  | "response_too_large"
  | "protocol_version_unsupported"
  | "connection_failed"
  | "http_error"
  | "unauthenticated"
  | "canceled"
  | "busy"
  | "invalid_argument";

export interface ShellErrorOptions {
  /** Who says so. */
  origin?: "shell" | "transport" | "engine";
  /** Whether the same request may succeed later. */
  retryable?: boolean;
  /** How long the other side asks to be left alone. */
  retryAfterMs?: number;
  /** Safe to log. */
  details?: Record<string, unknown>;
  cause?: unknown;
}

export class ShellError extends Error {
  override readonly name = "ShellError";
  readonly code: string;
  readonly origin: "shell" | "transport" | "engine";
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Record<string, unknown>;

  constructor(code: string, message: string, options: ShellErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.origin = options.origin ?? "shell";
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details ?? {};
  }
}

/** An error whose code is one of the shell's own. */
export function shellError(
  code: ShellErrorCode,
  message: string,
  options: ShellErrorOptions = {},
): ShellError {
  return new ShellError(code, message, options);
}

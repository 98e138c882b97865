/** Tries a request again where that can help: always the same message, so that the engine knows it again. */

import { backoffMs } from "../../web/backoff.ts";
import { pause } from "../../web/pause.ts";
import { ShellError } from "./errors.ts";
import type { ResponseMessage } from "./response.ts";

export interface RetryPolicy {
  /** With the first one. */
  readonly attemptsMax: number;
  /** Twice as long before each further one. */
  readonly firstDelayMs: number;
  /** The longest pause; an engine that asks for more is not tried again. */
  readonly delayMsMax: number;
}

export const defaultRetryPolicy: RetryPolicy = { attemptsMax: 5, firstDelayMs: 500, delayMsMax: 30_000 };

/** The last answer, or the last error, when trying again does not help or has not helped. */
export async function withRetries(
  attempt: () => Promise<ResponseMessage>,
  policy: RetryPolicy,
  signal: AbortSignal,
  onRetry: (error: ShellError, delayMs: number) => void,
): Promise<ResponseMessage> {
  for (let attempts = 1; ; attempts++) {
    const result = await attempt().catch((error: unknown) => {
      if (error instanceof ShellError) return error;
      throw error;
    });
    const error = result instanceof ShellError ? result : result.error;
    const delayMs = error?.retryable === true ? delayBefore(attempts, policy, error) : null;
    if (error === undefined || delayMs === null || signal.aborted) {
      if (result instanceof ShellError) throw result;
      return result;
    }
    onRetry(error, delayMs);
    await pause(delayMs, signal);
  }
}

function delayBefore(attempts: number, policy: RetryPolicy, { retryAfterMs }: ShellError): number | null {
  if (attempts >= policy.attemptsMax) return null;
  if (retryAfterMs !== undefined) return retryAfterMs <= policy.delayMsMax ? retryAfterMs : null;
  return backoffMs({ firstMs: policy.firstDelayMs, mostMs: policy.delayMsMax }, attempts);
}

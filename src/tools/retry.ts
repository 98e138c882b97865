/** How often the code of a step or a tool is tried, and how long is waited in between: what authors may say, and its defaults. */

import { readRetryAfter } from "../web/retry-after.ts";

export interface Backoff {
  /** The longest wait before the second attempt. */
  initialMs?: number;
  /** By what each further wait is longer. */
  factor?: number;
  maxMs?: number;
  /** Waits a random time between half of the delay and all of it, so that many callers do not come back at once. On by default. */
  jitter?: boolean;
}

export interface RetryOptions {
  /** Further attempts after the first one has failed. */
  retries?: number;
  backoff?: Backoff;
  /** How long one attempt may take. */
  timeoutMs?: number;
  /** Whether a failed attempt is repeated. By default everything is but `NonRetryableError`, other named failures and HTTP status 4xx. */
  retryIf?: (error: unknown, attempt: number) => boolean;
}

export interface RetryPolicy {
  retries: number;
  backoff: Required<Backoff>;
  retryIf: (error: unknown, attempt: number) => boolean;
}

/** For reads: three attempts in all. */
export const retriesDefault = 2;
const retriesMax = 100;
const backoffDefault: Required<Backoff> = { initialMs: 500, factor: 2, maxMs: 60_000, jitter: true };
const dayMs = 24 * 60 * 60 * 1000;
/** One attempt is not a job: what takes longer is a task of its own, which waits and survives. */
export const attemptMsMax = 60 * 60 * 1000;

export function retryPolicy(
  { retries, backoff, retryIf }: RetryOptions,
  byDefault: { retries: number; retryIf: RetryPolicy["retryIf"] },
): RetryPolicy {
  return {
    retries: retries ?? byDefault.retries,
    backoff: { ...backoffDefault, ...backoff },
    retryIf: retryIf ?? byDefault.retryIf,
  };
}

/** What is wrong with the options, if anything. */
export function problemWithRetries({
  retries,
  backoff = {},
  timeoutMs,
  retryIf,
}: RetryOptions): string | null {
  if (retries !== undefined && !isWithin(retries, 0, retriesMax))
    return `retries must be a whole number from 0 to ${retriesMax}`;
  const { initialMs = 1, factor = 1, maxMs = 1 } = backoff;
  if (!isWithin(initialMs, 1, dayMs)) return `backoff.initialMs must be a whole number from 1 to ${dayMs}`;
  if (!isWithin(maxMs, 1, dayMs)) return `backoff.maxMs must be a whole number from 1 to ${dayMs}`;
  if (!(factor >= 1 && factor <= 100)) return "backoff.factor must be a number from 1 to 100";
  if (timeoutMs !== undefined && !isWithin(timeoutMs, 1, attemptMsMax))
    return `timeoutMs must be a whole number from 1 to ${attemptMsMax}`;
  if (retryIf !== undefined && typeof retryIf !== "function") return "retryIf must be a function";
  return null;
}

function isWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

/**
 * How long to wait after the `attempt`-th attempt (the first is 1) failed with `error`; null when it is the last. What the error
 * says about when to come back is respected; a day is the most that anybody is waited for.
 */
export function delayAfter(
  { retries, backoff, retryIf }: RetryPolicy,
  { error, attempt, nowMs, random }: { error: unknown; attempt: number; nowMs: number; random: () => number },
): number | null {
  if (attempt > retries || !retryIf(error, attempt)) return null;
  const { initialMs, factor, maxMs, jitter } = backoff;
  const longest = Math.min(maxMs, initialMs * factor ** (attempt - 1));
  const delay = Math.ceil(jitter ? longest * (0.5 + random() / 2) : longest);
  const asked = retryAfterOf(error, nowMs) ?? 0;
  return asked > dayMs ? null : Math.max(delay, asked);
}

/** The status of an error of an HTTP client says that the same request will fail again. */
export function isClientError(error: unknown): boolean {
  const status = statusOf(error) ?? statusOf(memberOf(error, "response"));
  return status !== null && status >= 400 && status < 500 && ![408, 425, 429].includes(status);
}

function statusOf(error: unknown): number | null {
  const status = memberOf(error, "status") ?? memberOf(error, "statusCode");
  return typeof status === "number" ? status : null;
}

/** `retryAfterMs`, or the header `Retry-After` where HTTP clients keep it. */
function retryAfterOf(error: unknown, nowMs: number): number | null {
  const ms = memberOf(error, "retryAfterMs");
  if (typeof ms === "number" && ms >= 0) return ms;
  return [error, memberOf(error, "response")]
    .map((holder) => readRetryAfter(headerIn(memberOf(holder, "headers")), nowMs))
    .reduce((found, next) => found ?? next, null);
}

function headerIn(headers: unknown): string | null {
  const value = headers instanceof Headers ? headers.get("retry-after") : memberOf(headers, "retry-after");
  return typeof value === "string" || typeof value === "number" ? String(value) : null;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

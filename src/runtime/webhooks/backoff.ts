/** When something that failed is tried again: later each time, at a random moment so that not all come back at once. */

export interface Backoff {
  /** The longest wait after the first failure; it doubles with each one. */
  baseMs: number;
  /** No wait is longer. */
  capMs: number;
  /** After so many failures of one notification the webhook is given up. */
  attemptsMax: number;
}

/** Half an hour, more or less: a receiver may be restarted, or repaired by somebody who was woken. */
export const webhookBackoff: Backoff = { baseMs: 1000, capMs: 10 * 60 * 1000, attemptsMax: 15 };

/** `asked` is what the other side would like, and is heard within the cap. */
export function waitMs(
  { baseMs, capMs }: Pick<Backoff, "baseMs" | "capMs">,
  attempts: number,
  asked: number | null,
): number {
  const longest = Math.min(capMs, baseMs * 2 ** (attempts - 1));
  return Math.max(Math.floor(Math.random() * longest), Math.min(asked ?? 0, capMs));
}

/** RFC 9110, section 10.2.3: seconds, or a date. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

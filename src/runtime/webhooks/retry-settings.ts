/** When a webhook is tried again. */

import type { Backoff } from "../../web/backoff.ts";

export interface WebhookBackoff extends Backoff {
  /** After so many failures of one notification the webhook is given up. */
  attemptsMax: number;
}

/** Half an hour, more or less: a receiver may be restarted, or repaired by somebody who was woken. */
export const webhookBackoff: WebhookBackoff = { firstMs: 1000, mostMs: 10 * 60 * 1000, attemptsMax: 15 };

/** RFC 9110, section 10.2.3: seconds, or a date. */
export function readRetryAfter(header: string | null, nowMs: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

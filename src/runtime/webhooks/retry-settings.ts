/** When a webhook is tried again. */

import type { Backoff } from "../../web/backoff.ts";

export interface WebhookBackoff extends Backoff {
  /** After so many failures of one notification the webhook is given up. */
  attemptsMax: number;
}

/** Half an hour, more or less: a receiver may be restarted, or repaired by somebody who was woken. */
export const webhookBackoff: WebhookBackoff = { firstMs: 1000, mostMs: 10 * 60 * 1000, attemptsMax: 15 };

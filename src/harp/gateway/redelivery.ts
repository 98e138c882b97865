/** When a message that was not acknowledged is told again: after a while, then after twice as long, up to a longest while. */

import type { GatewaySettings } from "./settings.ts";

type Delays = Pick<GatewaySettings, "redeliverMs" | "redeliverMsMax">;

/**
 * Whether one of its times lies behind `sinceMs` and not behind `nowMs`. Computed from when it was first told, so that
 * nothing has to be remembered about each message.
 */
export function isDueAgain(
  firstToldMs: number,
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
  delays: Delays,
): boolean {
  return timesAgain(nowMs - firstToldMs, delays) > timesAgain(sinceMs - firstToldMs, delays);
}

/** How often it should have been told again after this long. */
export function timesAgain(elapsedMs: number, { redeliverMs, redeliverMsMax }: Delays): number {
  let [times, atMs, delayMs] = [0, redeliverMs, redeliverMs];
  while (atMs <= elapsedMs && delayMs < redeliverMsMax) {
    times += 1;
    delayMs = Math.min(delayMs * 2, redeliverMsMax);
    atMs += delayMs;
  }
  // From here on the delays are all the same.
  return atMs > elapsedMs ? times : times + 1 + Math.floor((elapsedMs - atMs) / redeliverMsMax);
}

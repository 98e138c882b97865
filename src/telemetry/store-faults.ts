/** Writes that fail are one fact: one line when it begins, one a minute while it lasts, one when it is over. */

import type { Logger } from "pino";

const everyMs = 60_000;

/** What to call when the fault of a store changes. */
export function storeFaultLog(logger: Logger, store: string): (fault: string | null) => void {
  let [reason, since, isReported]: [string | null, number, boolean] = [null, 0, false];
  let pause: NodeJS.Timeout | null = null;
  const report = () => {
    pause = null;
    if (reason === null) return;
    const fact = { event: "store.write_failed", store, reason, failing_seconds: secondsSince(since) };
    logger.error(fact, `Cannot write to the database (${reason}); requests that write are refused, retrying`);
    isReported = true;
    pause = setTimeout(report, everyMs).unref();
  };
  const reportEnd = () => {
    const fact = { event: "store.write_recovered", store, failed_seconds: secondsSince(since) };
    logger.warn(fact, "The database can be written again");
    isReported = false;
  };
  return (fault) => {
    if (fault === null && isReported) reportEnd();
    if (reason === null) since = performance.now();
    reason = fault;
    // A store that fails and recovers again and again leaves two lines a minute, not two for each time.
    if (fault !== null && pause === null) report();
  };
}

function secondsSince(start: number): number {
  return Math.round((performance.now() - start) / 1000);
}

/** What everything stands on: Node.js and the clock. */

import { type Answer, ok, problem } from "./finding.ts";

/** The range is that of package.json: `>=` and a major version. */
export function nodeVersion(version: string, range: string): Answer {
  const needed = Number(/^>=(\d+)$/.exec(range)?.[1]);
  const [major] = version.split(".").map(Number);
  if (major !== undefined && major >= needed) return ok(version);
  return problem(`${version} is too old`, `Install Node.js ${needed} or newer.`);
}

/** Bridle is younger than this, and nobody runs it after that. */
const yearMin = 2026;
const yearMax = 2100;
/** Clocks that are set over the network jump a little. */
const toleranceMs = 5000;

/** Leases, schedules and tokens go by the clock, and the log must not go back in time. */
export function clock(nowMs: number, newestAt: string | null): Answer {
  const now = new Date(nowMs);
  const year = now.getUTCFullYear();
  if (year < yearMin || year > yearMax) {
    return problem(`it is not ${now.toISOString()}`, "Set the clock.");
  }
  if (newestAt !== null && Date.parse(newestAt) > nowMs + toleranceMs) {
    const behind = Math.ceil((Date.parse(newestAt) - nowMs) / 1000);
    return problem(
      `it is ${now.toISOString()}, but the newest event in the log is of ${newestAt}, ${behind} seconds later`,
      "Set the clock before a server starts.",
    );
  }
  return ok(now.toISOString());
}

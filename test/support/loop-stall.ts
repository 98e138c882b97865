/**
 * How long one turn of the event loop takes while something runs in this process.
 *
 * A probe wakes every millisecond and compares what it cost since it woke last: in wall time and in CPU time of this thread. The
 * smaller one counts. Wall time alone would also count what other processes do while they have the core; CPU time alone is only
 * accurate to a few milliseconds. What still grows on a busy machine is the price of the same work (shared caches, two threads on
 * one core): a fixed computation is timed before and after, and the budget grows by its price relative to the lowest in this
 * process, at most to twice its size.
 */

import assert from "node:assert/strict";
import { hash } from "node:crypto";

/** What a turn may cost on a quiet machine. */
const budgetMs = 50;
const budgetFactorMax = 2;
const calibrations = 6;
/** The lowest price of the computation so far, in milliseconds. */
let lowestMs = Number.POSITIVE_INFINITY;

export interface LoopStall {
  /** The most expensive turn, in milliseconds. */
  longestMs: number;
  budgetMs: number;
}

/** Runs something and measures the event loop meanwhile. */
export async function measureStall<T>(run: () => Promise<T>): Promise<LoopStall & { result: T }> {
  const priceBefore = priceMs();
  let longestMs = 0;
  let before = times();
  const probe = setInterval(() => {
    const now = times();
    longestMs = Math.max(longestMs, Math.min(now.wallMs - before.wallMs, now.cpuMs - before.cpuMs));
    before = times();
  }, 1);
  try {
    const result = await run();
    // The turn in which it ended counts too.
    await new Promise((resolve) => setTimeout(resolve, 2));
    const price = Math.max(priceBefore, priceMs());
    const factor = Math.min(price / lowestMs, budgetFactorMax);
    return { result, longestMs: Math.round(longestMs), budgetMs: Math.round(budgetMs * factor) };
  } finally {
    clearInterval(probe);
  }
}

/** The same, and fails when a turn cost more than it may. */
export async function withoutStall<T>(run: () => Promise<T>): Promise<T> {
  const { result, ...stall } = await measureStall(run);
  assert.ok(
    stall.longestMs <= stall.budgetMs,
    `one turn of the event loop took ${stall.longestMs} ms of ${stall.budgetMs} ms`,
  );
  return result;
}

/** What something cost the event loop, in milliseconds: work of others that ran meanwhile in this thread, but not in other processes. */
export async function costOf(run: () => Promise<unknown>): Promise<number> {
  const before = times();
  await run();
  const now = times();
  return Math.min(now.wallMs - before.wallMs, now.cpuMs - before.cpuMs);
}

function times(): { wallMs: number; cpuMs: number } {
  const { user, system } = process.threadCpuUsage();
  return { wallMs: performance.now(), cpuMs: (user + system) / 1000 };
}

/** What a fixed computation costs now: the fastest of a few runs, since others can interrupt any of them. */
function priceMs(): number {
  const runs = Array.from({ length: calibrations }, () => {
    const before = performance.now();
    let text = "";
    for (let n = 0; n < 500; n++) text = hash("sha256", text);
    return performance.now() - before;
  });
  const price = Math.min(...runs);
  lowestMs = Math.min(lowestMs, price);
  return price;
}

/**
 * node:test follows every promise of its process to learn which test an error belongs to, which takes a tenth of the suite's
 * processor time. It needs that only while a file registers its tests. Loaded before node:test, whose one hook it replaces.
 */

import asyncHooks, { type AsyncHook } from "node:async_hooks";

const { createHook } = asyncHooks;
let full: AsyncHook | null = null;
let light: AsyncHook | null = null;

asyncHooks.createHook = (callbacks) => {
  asyncHooks.createHook = createHook;
  full = createHook(callbacks);
  light = createHook({ ...callbacks, trackPromises: false });
  return full;
};

/** Whether an error that nobody catches is still found to belong to a test. */
export let isTrackingPromises = true;

export function trackPromises(isWanted: boolean): void {
  isTrackingPromises = isWanted;
  (isWanted ? light : full)?.disable();
  (isWanted ? full : light)?.enable();
}

/**
 * node:test follows every promise of its process to learn which suite registers a test, and which test an error belongs to. That
 * takes a tenth of the suite's processor time. Here it follows none: while a file loads, what is outside of the file's own
 * suites belongs to the suite of the file, and errors that nobody catches are reported by the worker. Loaded before node:test.
 */

import asyncHooks, { type HookCallbacks } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";

const { createHook, executionAsyncId } = asyncHooks;

/** Where node:test finds suites and tests that it made itself. */
const ownIds = new Set<number>();
/** Of the file that is being loaded. */
let fileSuiteId: number | null = null;

asyncHooks.createHook = (callbacks: HookCallbacks) =>
  createHook({
    ...callbacks,
    trackPromises: false,
    init(id, type, triggerId, resource: object) {
      if (["Suite", "Test"].includes(resource.constructor.name)) ownIds.add(id);
      callbacks.init?.(id, type, triggerId, resource);
    },
    destroy(id) {
      ownIds.delete(id);
      callbacks.destroy?.(id);
    },
  });
asyncHooks.executionAsyncId = () => {
  const id = executionAsyncId();
  return fileSuiteId === null || ownIds.has(id) ? id : fileSuiteId;
};
const nodeTest: typeof import("node:test") = createRequire(import.meta.url)("node:test");
asyncHooks.createHook = createHook;
asyncHooks.executionAsyncId = executionAsyncId;

const { describe } = nodeTest;

/** Everything that is registered while the file loads, outside of its own suites, belongs to the suite of the file. */
export function registerFile(file: string, timeoutMs: number, load: () => Promise<void>): void {
  void describe(file, { timeout: timeoutMs }, async () => {
    fileSuiteId = executionAsyncId();
    try {
      await load();
    } finally {
      fileSuiteId = null;
    }
  });
}

/** Tests that a suite registers later than at once would not run. */
function refuseLate(given: unknown): unknown {
  if (typeof given !== "function") return given;
  return (...context: unknown[]) => {
    if (given(...context) instanceof Promise) {
      throw new Error("A suite registers its tests synchronously: await what it needs before it.");
    }
  };
}

nodeTest.describe = new Proxy(describe, {
  apply: (_, self, given) => Reflect.apply(describe, self, given.map(refuseLate)),
});
syncBuiltinESMExports();

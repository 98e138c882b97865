/**
 * node:test follows every promise of its process to learn which suite registers a test, and which test an error belongs to. That
 * takes a tenth of the suite's processor time. Here it follows none: what a file registers is put into the file's suite, and
 * errors that nobody catches are reported by the worker. Loaded before node:test.
 */

import asyncHooks, { AsyncResource } from "node:async_hooks";
import { createRequire, syncBuiltinESMExports } from "node:module";

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
const nodeTest: typeof import("node:test") & Record<string, unknown> = createRequire(import.meta.url)(
  "node:test",
);
/** As it was: not what files get below. */
const { describe } = nodeTest;

let fileSuite: AsyncResource | null = null;
/** How many suites of the file are being registered, one inside the other. They are registered synchronously. */
let depth = 0;

/** Everything that is registered while the file loads, outside of its own suites, belongs to the suite of the file. */
export function registerFile(file: string, timeoutMs: number, load: () => Promise<void>): void {
  void describe(file, { timeout: timeoutMs }, async () => {
    fileSuite = new AsyncResource("TestFile");
    await load();
  });
}

function inFileSuite(name: string, register: (...given: unknown[]) => unknown) {
  const isSuite = name === "describe" || name === "suite";
  return new Proxy(register, {
    apply(_, __, given) {
      const known = isSuite ? given.map(counted) : given;
      if (fileSuite === null || depth > 0) return register(...known);
      return fileSuite.runInAsyncScope(() => register(...known));
    },
  });
}

function counted(given: unknown): unknown {
  if (typeof given !== "function") return given;
  return (...context: unknown[]) => {
    depth += 1;
    try {
      if (given(...context) instanceof Promise) {
        throw new Error("A suite registers its tests synchronously: await what it needs before it.");
      }
    } finally {
      depth -= 1;
    }
  };
}

for (const name of ["test", "it", "describe", "suite", "before", "after", "beforeEach", "afterEach"]) {
  const register = nodeTest[name];
  if (typeof register !== "function") throw new Error(`node:test has no ${name}`);
  nodeTest[name] = inFileSuite(name, (...given) => Reflect.apply(register, undefined, given));
}
syncBuiltinESMExports();

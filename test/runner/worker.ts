/**
 * Runs the test files that the runner names, one after the other, in one process: what one file has loaded the next need not
 * load again. Each file is a suite, so its hooks are its own. The reporter tells the runner how it went.
 */

import { join } from "node:path";
import { after } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { root, send, type ToWorker } from "./protocol.ts";
import { registerFile } from "./registration.ts";

/** For a file, and for each test in it that has no timeout of its own. `seed.ts` would load what few files need. */
const timeoutMs = process.env.BRIDLE_TEST_THOROUGH === "1" ? 900_000 : 300_000;

process.on("message", (message: ToWorker) => {
  if ("end" in message) return process.exit();
  const { file } = message;
  registerFile(file, timeoutMs, async () => {
    const env = { ...process.env };
    await import(pathToFileURL(join(root, file)).href);
    // What one file sets in the environment is not there for the next.
    after(() => {
      process.env = env;
    });
  });
});

/** node:test does not know whose it is. */
function reportUncaught(error: unknown): void {
  send({ type: "uncaught", reason: inspect(error) });
}
process.on("uncaughtException", reportUncaught).on("unhandledRejection", reportUncaught);

send({ type: "ready" });

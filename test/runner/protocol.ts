/** What the runner and its workers send each other. */

import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

export type ToWorker = { file: string } | { end: true };

export interface Failure {
  /** The name of the test behind those of the suites around it. */
  name: string;
  /** `test/crash.e2e.test.ts:12` */
  at: string;
  /** The error, and what the servers of the test wrote last. */
  reason: string;
}

export type FromWorker =
  | { type: "ready" }
  | { type: "started"; name: string }
  | { type: "passed"; name: string; seconds: number; isSkipped: boolean }
  | { type: "failed"; failure: Failure }
  | { type: "diagnostic"; message: string }
  /** An error that nobody caught. */
  | { type: "uncaught"; reason: string }
  /** The file is done; how much CPU it took, with the processes that it started. */
  | { type: "done"; cpuSeconds: number };

/** From a worker to the runner. */
export function send(message: FromWorker): void {
  process.send?.(message);
}

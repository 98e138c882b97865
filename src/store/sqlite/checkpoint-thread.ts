/** The main thread's side of the thread that copies commits to the database (`checkpointer.ts`). */

import type { Worker } from "node:worker_threads";
import { checkpointerModule } from "../../package-files.ts";
import { startThread } from "../../start-thread.ts";
import type { CheckpointerOptions } from "./checkpointer.ts";

/** It looks after so many batches, which are a few megabytes. */
const batchesMin = 200;

export class CheckpointThread {
  readonly #options: CheckpointerOptions;
  /** It costs a start and memory, and most stores have little to write: it comes with the first look. */
  #worker: Worker | null = null;
  #batches = 0;
  /** Without it, the writer does all of it. */
  #isOver = false;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** So many batches were committed. */
  noteCommitted(batches: number): void {
    this.#batches += batches;
    if (this.#batches < batchesMin || this.#isOver) return;
    this.#batches = 0;
    this.#worker ??= this.#start();
    this.#worker.postMessage(null);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = startThread(checkpointerModule, "bridle-wal", this.#options);
    const end = () => {
      this.#isOver = true;
    };
    // What is wrong with the disk, the writer finds out and reports.
    worker.once("error", end);
    worker.once("exit", end);
    return worker;
  }
}

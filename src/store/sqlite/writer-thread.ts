/** The main thread's side of the writer thread: what it is asked, and its answers in order. */

import type { Worker } from "node:worker_threads";
import { writerModule } from "../../package-files.ts";
import { pauseIfLate } from "../../slices.ts";
import { startThread } from "../../start-thread.ts";
import type { BatchResult, BatchRows, Dropped } from "../batch-rows.ts";
import { OutcomeUnknown, type Position, StoreUnavailable } from "../port.ts";
import { CheckpointThread } from "./checkpoint-thread.ts";
import type { Request, Response, WriterOptions } from "./protocol.ts";
import { pagesOf, unpaged } from "./row-pages.ts";
import type { SqliteWriter, WriterStopped } from "./store.ts";

interface Asked {
  request: Request;
  resolve(response: Response): void;
  reject(error: Error): void;
}

export class WriterThread implements SqliteWriter {
  readonly #options: WriterOptions;
  readonly #onStopped: WriterStopped;
  readonly #checkpoints: CheckpointThread;
  /** A thread costs a start and memory, and a store may have nothing to write: it comes with the first request. */
  #worker: Worker | null = null;
  #stopped: StoreUnavailable | null = null;
  readonly #asked: Asked[] = [];

  constructor(options: WriterOptions, onStopped: WriterStopped) {
    this.#options = options;
    this.#onStopped = onStopped;
    this.#checkpoints = new CheckpointThread({ file: options.file });
  }

  async write(batches: BatchRows[], isLarge: boolean): Promise<BatchResult[]> {
    if (isLarge) await this.#sendPages(batches);
    const response = await this.#ask({ type: "commit", batches: isLarge ? batches.map(unpaged) : batches });
    this.#checkpoints.noteCommitted(batches.length);
    return response.type === "committed" ? response.results : [];
  }

  async #sendPages(batches: readonly BatchRows[]): Promise<void> {
    for (const rows of batches) {
      for (const page of pagesOf(rows)) {
        this.#post({ type: "page", page });
        await pauseIfLate();
      }
    }
  }

  async probe(): Promise<string | null> {
    const response = await this.#ask({ type: "probe" });
    return response.type === "probed" ? response.fault : null;
  }

  async forgetOnce(before: number): Promise<number> {
    const response = await this.#ask({ type: "forget_once", before });
    return response.type === "forgotten" ? response.count : 0;
  }

  async dropBlobs(sha256s: string[], scannedThrough: Position): Promise<Dropped> {
    const response = await this.#ask({ type: "drop_blobs", sha256s, scannedThrough });
    if (response.type !== "dropped") return { kept: sha256s, count: 0, bytes: 0 };
    const { kept, count, bytes } = response;
    return { kept, count, bytes };
  }

  async scrub(): Promise<void> {
    await this.#ask({ type: "scrub" });
  }

  async close(): Promise<void> {
    await this.#checkpoints.close();
    if (this.#worker === null) return;
    if (this.#stopped === null) await this.#ask({ type: "close" });
    await this.#worker.terminate();
  }

  #ask(request: Request): Promise<Response> {
    if (this.#stopped !== null) return Promise.reject(this.#stopped);
    return new Promise((resolve, reject) => {
      this.#asked.push({ request, resolve, reject });
      this.#post(request);
    });
  }

  #post(request: Request): void {
    this.#worker ??= this.#start();
    this.#worker.postMessage(request);
  }

  #start(): Worker {
    const worker = startThread(writerModule, "bridle-writer", this.#options);
    worker.once("error", (error) => this.#ended("the writer thread failed", error));
    worker.on("message", (response: Response) => this.#receive(response));
    worker.once("exit", () => this.#ended("the writer thread ended"));
    return worker;
  }

  #receive(response: Response): void {
    if (response.type === "fenced") {
      this.#stop(response.reason);
      return;
    }
    const asked = this.#asked.shift();
    if (response.type === "failed") asked?.reject(new StoreUnavailable(response.reason));
    else asked?.resolve(response);
  }

  /** A thread that ends by itself does not say how far it was with the group that it had. */
  #ended(reason: string, cause?: unknown): void {
    const lost = this.#asked.findIndex(({ request }) => request.type === "commit");
    if (lost !== -1) this.#asked.splice(lost, 1)[0]?.reject(new OutcomeUnknown(reason, { cause }));
    this.#stop(reason, cause);
  }

  #stop(reason: string, cause?: unknown): void {
    if (this.#stopped !== null) return;
    this.#stopped = new StoreUnavailable(reason, { fault: reason, cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#stopped);
    this.#onStopped(reason, cause);
  }
}

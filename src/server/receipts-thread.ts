/** Receipts are made on a thread of their own, so that hashes and signatures take no time of the thread that answers requests. */

import type { Worker } from "node:worker_threads";
import type { DueReceipt } from "../kernel/receipts/due.ts";
import type { MakerHooks, ReceiptMaker } from "../kernel/receipts/follower.ts";
import type { Issuer } from "../kernel/receipts/signing.ts";
import { receiptsModule } from "../package-files.ts";
import { startThread } from "../start-thread.ts";
import { type Batch, BatchFailed, type Position, VersionConflict } from "../store/port.ts";
import type { FromReceipts, ReceiptsOptions, Signer, ToReceipts } from "./receipts-worker.ts";

const restartMs = 1000;

export interface ReceiptThreadOptions extends MakerHooks {
  directory: string;
  issuer: Issuer;
  commit(batch: Batch): Promise<unknown>;
}

export class ReceiptThread implements ReceiptMaker {
  readonly #options: ReceiptThreadOptions;
  /** It costs a start and memory, and there may be no receipts: it comes with the first. */
  #worker: Worker | null = null;
  /** The key that the thread signs with. */
  #key: Issuer["key"];
  #head: Position = 0;
  /** Said with what became of a commit: messages between threads are dear. */
  #due: DueReceipt[] = [];
  #isCommitting = false;
  #isClosed = false;

  constructor(options: ReceiptThreadOptions) {
    this.#options = options;
    this.#key = options.issuer.key;
  }

  note(head: Position, due: readonly DueReceipt[]): void {
    this.#head = head;
    const worker = this.#running();
    const { key } = this.#options.issuer;
    if (key !== this.#key) {
      this.#key = key;
      this.#post(worker, { type: "signer", signer: this.#signer() });
    }
    if (this.#isCommitting) this.#due.push(...due);
    else this.#post(worker, { type: "note", note: { head, due } });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #signer(): Signer {
    return { privateKey: this.#key.privateKey, issuerId: this.#options.issuer.id };
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    this.#key = this.#options.issuer.key;
    const options: ReceiptsOptions = { directory: this.#options.directory, signer: this.#signer() };
    const worker = startThread(receiptsModule, "bridle-receipts", options);
    worker.on("message", (message: FromReceipts) => this.#receive(worker, message));
    worker.once("error", (error) => this.#options.onError(error));
    worker.once("exit", () => this.#ended());
    this.#worker = worker;
    return worker;
  }

  /** A new thread goes on at the cursor in the store. */
  #ended(): void {
    this.#worker = null;
    this.#isCommitting = false;
    this.#due = [];
    if (!this.#isClosed) setTimeout(() => this.#isClosed || this.note(this.#head, []), restartMs).unref();
  }

  #receive(worker: Worker, message: FromReceipts): void {
    switch (message.type) {
      case "commit":
        void this.#commit(worker, message.batch);
        break;
      case "reached":
        this.#options.onReached(message.position);
        break;
      case "error":
        this.#options.onError(message.error);
        break;
    }
  }

  async #commit(worker: Worker, batch: Batch): Promise<void> {
    this.#isCommitting = true;
    let failure: Extract<ToReceipts, { type: "failed" }> | null = null;
    try {
      await this.#options.commit(batch);
      if (batch.cursor !== undefined) this.#options.onReached(batch.cursor.to);
    } catch (error) {
      const isOfBatch = error instanceof VersionConflict || error instanceof BatchFailed;
      failure = { type: "failed", reason: String(error), isOfBatch };
    }
    if (this.#worker !== worker) return;
    this.#isCommitting = false;
    const note = { head: this.#head, due: this.#due.splice(0) };
    // After a failure the log is read from the cursor, with all that has become due.
    if (failure === null) this.#post(worker, { type: "committed", note });
    else this.#post(worker, failure);
  }

  #post(worker: Worker, message: ToReceipts): void {
    worker.postMessage(message);
  }
}

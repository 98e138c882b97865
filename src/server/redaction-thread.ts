/** Long texts are searched for secrets on a thread of their own, so that they do not delay requests with short ones. */

import type { Worker } from "node:worker_threads";
import { redactionModule } from "../package-files.ts";
import { type SearchedText, type SearchTexts, searchHere } from "../policy/redact/search-budget.ts";
import { startThread } from "../start-thread.ts";
import type { FromRedaction, ToRedaction } from "./redaction-worker.ts";

interface Search {
  texts: readonly SearchedText[];
  resolve(found: string[] | Promise<string[]>): void;
}

export class RedactionThread {
  readonly #onError: (error: unknown) => void;
  /** Started with the first long text; many servers never see one. */
  #worker: Worker | null = null;
  #lastId = 0;
  readonly #waiting = new Map<number, Search>();

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  readonly search: SearchTexts = (texts) => {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, { texts, resolve });
      worker.ref();
      worker.postMessage({ id, texts } satisfies ToRedaction);
    });
  };

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = startThread(redactionModule, "bridle-redaction", {});
    worker.on("message", ({ id, found }: FromRedaction) => {
      this.#waiting.get(id)?.resolve(found);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
    });
    worker.once("error", this.#onError);
    worker.once("exit", () => this.#ended());
    return worker;
  }

  /** Late is better than never: what was waited for is searched on this thread, and the next text starts a new one. */
  #ended(): void {
    this.#worker = null;
    for (const { texts, resolve } of this.#waiting.values()) resolve(searchHere(texts));
    this.#waiting.clear();
  }
}

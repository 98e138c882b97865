/**
 * Follows the log and tells the collector what has ended.
 *
 *   L1  The log is the queue. Spans are made of what is on disk, a batch at a time, and the cursor goes on when a batch was taken.
 *       A collector that is away costs one batch in memory and is caught up with later; nobody who works waits for any of it.
 *   L2  What was taken is not sent again, unless the process died between the answer and the cursor; then it is the same span
 *       under the same id.
 *   L3  What nobody took for a day, or what a collector refuses to take at all, is given up, and the log says so.
 */

import type { Logger } from "pino";
import { asRecorded } from "../../kernel/events.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Position } from "../../store/port.ts";
import { ContentReader } from "./content.ts";
import { type Cursor, readCursor, writeCursor } from "./cursor.ts";
import { Gatherer } from "./gatherer.ts";
import type { ExportProblem, Otel, ReadableSpan } from "./otel.ts";
import type { TraceSettings } from "./settings.ts";

const pageSize = 200;
const retryMs = { least: 1000, most: 60_000 };
/** Longer than this a collector is not waited for. */
const backlogMsMax = 24 * 60 * 60 * 1000;
/** A problem that lasts is told once in a while. */
const tellAgainMs = 5 * 60_000;
/** Statuses that say that this very batch is never going to be taken. */
const refusals: ReadonlySet<number | null> = new Set([400, 413, 422]);

export interface FollowerOptions {
  kernel: Kernel;
  otel: Otel;
  settings: TraceSettings;
  cursorFile: string;
  logger: Logger;
}

/** What waits to be taken, and how far the log was read for it. */
interface Batch {
  spans: ReadableSpan[];
  through: Position;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #gatherer: Gatherer;
  readonly #stop = new AbortController();
  /** When even what is left is not told any more. */
  readonly #over = new AbortController();
  readonly #unsubscribe: () => void;
  readonly #done: Promise<void>;
  readonly #batch: Batch;
  #saved: Position;
  #hasNews = true;
  #wake: () => void = () => {};
  #told = { at: 0, isProblem: false };

  static async start(options: FollowerOptions): Promise<Follower> {
    const { kernel, cursorFile, logger } = options;
    const [head, now] = [await kernel.store.head(), kernel.clock.now()];
    const found = readCursor(cursorFile);
    const isUsable = found !== null && found.position <= head && now - found.at <= backlogMsMax;
    if (found !== null && !isUsable && found.position < head)
      logger.warn("traces of what happened more than a day ago are not exported");
    if (isUsable) return new Follower(options, found);
    const cursor = { position: head, at: now };
    await writeCursor(cursorFile, cursor);
    return new Follower(options, cursor);
  }

  private constructor(options: FollowerOptions, { position, at }: Cursor) {
    this.#options = options;
    const { kernel, otel, settings } = options;
    const { store, redactor } = kernel;
    const reader = new ContentReader({ store, redactor, isWanted: settings.withContent });
    this.#batch = { spans: [], through: position };
    this.#saved = position;
    this.#gatherer = new Gatherer({ kernel, tracing: otel, reader, seenAt: at });
    this.#unsubscribe = kernel.tail.onCommit(() => {
      this.#hasNews = true;
      this.#wake();
    });
    this.#done = this.#follow();
  }

  /** Tells what is left, for so long; the rest is told at the next start. */
  async stop(graceMs: number): Promise<void> {
    this.#unsubscribe();
    this.#stop.abort();
    this.#wake();
    const timer = setTimeout(() => this.#over.abort(), graceMs);
    await Promise.race([this.#done, aborted(this.#over.signal)]);
    clearTimeout(timer);
    this.#over.abort();
  }

  async #follow(): Promise<void> {
    const isStopping = () => this.#stop.signal.aborted;
    while (true) {
      const isLast = isStopping();
      this.#hasNews = false;
      try {
        await this.#catchUp();
      } catch (error) {
        if (this.#over.signal.aborted) return;
        // The store, or the disk for the cursor; what the log holds is still there later.
        this.#tell({ status: null, message: messageOf(error) });
        this.#hasNews = true;
      }
      if (isLast || this.#over.signal.aborted) return;
      if (!this.#hasNews && !isStopping())
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      await pause(this.#options.settings.delayMs, this.#stop.signal);
    }
  }

  async #catchUp(): Promise<void> {
    const { kernel, cursorFile } = this.#options;
    const batch = this.#batch;
    let isAtHead = false;
    while (!isAtHead && !this.#over.signal.aborted) {
      isAtHead = await this.#gather();
      if (batch.spans.length > 0 && !(await this.#export())) return;
      batch.spans = [];
      if (batch.through === this.#saved) continue;
      await writeCursor(cursorFile, { position: batch.through, at: kernel.clock.now() });
      this.#saved = batch.through;
    }
  }

  /** Reads on until there are as many spans as one export takes. True when there is nothing more to read. */
  async #gather(): Promise<boolean> {
    const { kernel, otel, settings, logger } = this.#options;
    const batch = this.#batch;
    while (batch.spans.length < settings.spansMax) {
      const page = await kernel.store.events({ after: batch.through, limit: pageSize });
      for (const stored of page) {
        try {
          const facts = await this.#gatherer.take(asRecorded(stored));
          batch.spans.push(...facts.map((span) => otel.toReadable(span)));
        } catch (error) {
          // One that cannot be made must not stand in the way of all that come after it.
          logger.warn({ problem: messageOf(error), task_id: stored.taskId }, "a span could not be made");
        }
        batch.through = stored.position;
        if (batch.spans.length >= settings.spansMax) return false;
      }
      if (page.length < pageSize) return true;
    }
    return false;
  }

  /** True when they are no longer ours to tell; false when the time for it is over. */
  async #export(): Promise<boolean> {
    const { kernel, logger } = this.#options;
    const { spans } = this.#batch;
    const since = kernel.clock.now();
    for (let waitMs = retryMs.least; ; waitMs = Math.min(waitMs * 2, retryMs.most)) {
      const problem = await this.#attempt(spans);
      if (problem === null) {
        this.#taken();
        return true;
      }
      if (refusals.has(problem.status)) {
        const about = { status: problem.status, spans: spans.length };
        logger.warn(about, "the collector refused spans; they are lost");
        return true;
      }
      if (!this.#over.signal.aborted) this.#tell(problem);
      if (this.#stop.signal.aborted) return false;
      if (kernel.clock.now() - since > backlogMsMax) {
        this.#batch.through = await kernel.store.head();
        this.#gatherer.forget();
        logger.warn("the collector was away for a day; what ended before now is not exported");
        return true;
      }
      await pause(waitMs, this.#stop.signal);
    }
  }

  async #attempt(spans: ReadableSpan[]): Promise<ExportProblem | null> {
    const { otel, settings } = this.#options;
    const late = AbortSignal.any([this.#over.signal, AbortSignal.timeout(settings.timeoutMs)]);
    const inTime = aborted(late).then(() => ({ status: null, message: "it took too long" }));
    return await Promise.race([otel.export(spans), inTime]);
  }

  #tell({ status, message }: ExportProblem): void {
    const now = this.#options.kernel.clock.now();
    if (this.#told.isProblem && now - this.#told.at < tellAgainMs) return;
    this.#told = { at: now, isProblem: true };
    this.#options.logger.warn(
      { status: status ?? undefined, problem: message },
      "traces cannot be exported now; they stay in the log and are tried again",
    );
  }

  #taken(): void {
    if (!this.#told.isProblem) return;
    this.#told.isProblem = false;
    this.#options.logger.info("traces are exported again");
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Over at once when the signal is aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const timer = Promise.withResolvers<void>();
  const handle = setTimeout(timer.resolve, ms);
  const onAbort = () => timer.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) timer.resolve();
  await timer.promise;
  clearTimeout(handle);
  signal.removeEventListener("abort", onAbort);
}

/**
 * Follows the log and tells the collector what has ended.
 *
 *   L1  The log is the queue. Spans are made of what is on disk, a batch at a time, and the cursor goes on when a batch was taken.
 *       A collector that is away costs one batch in memory and is caught up with later; nobody who works waits for any of it.
 *   L2  What was taken is not sent again, unless the process died between the answer and the cursor; then it is the same span
 *       under the same id.
 *   L3  What nobody took for a day after it happened, or what a collector refuses to take at all, is given up, and the log says so.
 */

import type { Logger } from "pino";
import { type Clock, setTimer, timestamp } from "../../kernel/core/clock.ts";
import { asRecorded } from "../../kernel/core/events.ts";
import { readLog } from "../../kernel/core/log-tail.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import type { Position } from "../../store/port.ts";
import { backoffMs } from "../../web/backoff.ts";
import { ContentReader } from "./content.ts";
import { type Cursor, positionBefore, readCursor, writeCursor } from "./cursor.ts";
import { Gatherer } from "./gatherer.ts";
import type { ExportProblem, Otel, ReadableSpan } from "./otel.ts";
import type { TraceSettings } from "./settings.ts";

const backoff = { firstMs: 1000, mostMs: 60_000 };
/** Longer than this a collector is not waited for. */
const backlogMsMax = 24 * 60 * 60 * 1000;
/** A problem that lasts is told once in a while, and so are losses. */
const tellAgainMs = 5 * 60_000;
/** Statuses that say that this very batch is never going to be taken. */
const refusals: ReadonlySet<number | null> = new Set([400, 413, 422]);

export interface FollowerOptions {
  kernel: WholeKernel;
  otel: Pick<Otel, "isSampled" | "toReadable" | "export">;
  settings: TraceSettings;
  cursorFile: string;
  logger: Logger;
}

/** What waits to be taken, and how far the log was read for it. */
interface Batch {
  spans: ReadableSpan[];
  through: Position;
}

export class TraceExporter {
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
  /** Spans that nobody is told of any more, and when the log last said so. */
  #lost = { spans: 0, toldAt: Number.NEGATIVE_INFINITY };

  static async start(options: FollowerOptions): Promise<TraceExporter> {
    const { kernel, cursorFile } = options;
    const [head, now] = [await kernel.store.head(), kernel.clock.now()];
    const found = readCursor(cursorFile);
    if (found !== null && found.position <= head) {
      // Nothing is read that would be given up, however long nobody looked.
      const oldest = timestamp(now - backlogMsMax);
      const position = await positionBefore(kernel.store, oldest, found.position, head);
      if (position > found.position)
        options.logger.warn({ event: "traces.backlog_dropped" }, "Traces older than a day are not exported");
      return new TraceExporter(options, { ...found, position });
    }
    const cursor = { position: head, at: now };
    await writeCursor(cursorFile, cursor);
    return new TraceExporter(options, cursor);
  }

  private constructor(options: FollowerOptions, { position, at }: Cursor) {
    this.#options = options;
    const { kernel, otel, settings } = options;
    const { store, redactor, searchTexts } = kernel;
    const isWanted = settings.withContent;
    const readerFor = (tenantId: string) =>
      new ContentReader({ source: store.of(tenantId), redactor, searchTexts, isWanted });
    this.#batch = { spans: [], through: position };
    this.#saved = position;
    this.#gatherer = new Gatherer({ kernel, tracing: otel, readerFor, seenAt: at });
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
        await this.#pause(backoff.firstMs);
      }
      if (isLast || this.#over.signal.aborted) return;
      if (!this.#hasNews && !isStopping())
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      await this.#pause(this.#options.settings.delayMs);
    }
  }

  async #catchUp(): Promise<void> {
    const { cursorFile } = this.#options;
    const batch = this.#batch;
    let isAtHead = false;
    while (!isAtHead && !this.#over.signal.aborted) {
      isAtHead = await this.#gather();
      if (batch.spans.length > 0 && !(await this.#export())) return;
      batch.spans = [];
      if (batch.through === this.#saved) continue;
      await writeCursor(cursorFile, { position: batch.through, at: this.#gatherer.seenAt });
      this.#saved = batch.through;
    }
  }

  /** Reads on until there are as many spans as one export takes. True when there is nothing more to read. */
  async #gather(): Promise<boolean> {
    const { kernel, otel, settings, logger } = this.#options;
    const batch = this.#batch;
    for await (const page of readLog(kernel.store, { after: batch.through })) {
      for (const stored of page) {
        try {
          const facts = await this.#gatherer.take(asRecorded(stored));
          batch.spans.push(...facts.map((span) => otel.toReadable(span)));
        } catch (error) {
          // One that cannot be made must not stand in the way of all that come after it.
          logger.warn(
            { event: "traces.span_failed", problem: messageOf(error), task_id: stored.taskId },
            "A span could not be made",
          );
        }
        batch.through = stored.position;
        if (batch.spans.length >= settings.spansMax) return false;
      }
    }
    return true;
  }

  /** True when they are no longer ours to tell; false when the time for it is over. */
  async #export(): Promise<boolean> {
    const batch = this.#batch;
    for (let failures = 1; ; failures++) {
      this.#giveUpOld();
      if (batch.spans.length === 0) return true;
      const problem = await this.#attempt(batch.spans);
      if (problem === null) {
        this.#taken();
        return true;
      }
      if (refusals.has(problem.status)) {
        this.#lose(batch.spans.length, `The collector refused spans with ${problem.status}; they are lost`);
        return true;
      }
      if (!this.#over.signal.aborted) this.#tell(problem);
      if (this.#stop.signal.aborted) return false;
      await this.#pause(backoffMs(backoff, failures));
    }
  }

  #giveUpOld(): void {
    const batch = this.#batch;
    const oldest = this.#options.kernel.clock.now() - backlogMsMax;
    const left = batch.spans.filter(({ endTime: [seconds] }) => seconds * 1000 >= oldest);
    const old = batch.spans.length - left.length;
    batch.spans = left;
    if (old > 0) this.#lose(old, "The collector took no spans for a day; they are lost");
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
      { event: "traces.export_failed", status: status ?? undefined, problem: message },
      "Traces cannot be exported; they stay in the log, retrying",
    );
  }

  /** Those of minutes are told together. */
  #lose(spans: number, why: string): void {
    this.#lost.spans += spans;
    const now = this.#options.kernel.clock.now();
    if (now - this.#lost.toldAt < tellAgainMs) return;
    this.#options.logger.warn({ event: "traces.spans_lost", spans: this.#lost.spans }, why);
    this.#lost = { spans: 0, toldAt: now };
  }

  /** Over at once when the server stops. */
  async #pause(ms: number): Promise<void> {
    await pause(this.#options.kernel.clock, ms, this.#stop.signal);
  }

  #taken(): void {
    if (!this.#told.isProblem) return;
    this.#told.isProblem = false;
    this.#options.logger.info({ event: "traces.export_recovered" }, "Traces are exported again");
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const stopTimer = setTimer(clock, over.resolve, ms);
  const onAbort = () => over.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) over.resolve();
  await over.promise;
  stopTimer();
  signal.removeEventListener("abort", onAbort);
}

/**
 * Batches on their way to the disk: what arrives while a group is being written waits and goes together as the next group, in order.
 * A batch is resolved only after the writer says that it is on disk.
 */

import { Ahead } from "./ahead.ts";
import { type BatchResult, type BatchRows, type BodyText, toRows } from "./batch-rows.ts";
import {
  type Batch,
  BatchFailed,
  OnceConflict,
  OutcomeUnknown,
  type StoredEvent,
  StoreUnavailable,
  VersionConflict,
} from "./port.ts";
import { WriteHealth } from "./write-health.ts";

/** Batches waiting for the disk; past this the store is hopelessly behind and says so instead of growing. */
const waitingMax = 20_000;
/** Batches in one transaction, so that one group never holds the disk for long. */
const groupMax = 512;

interface Waiting {
  batch: Batch;
  rows: BatchRows;
  resolve(events: StoredEvent[]): void;
  reject(error: unknown): void;
}

/** Hears of every batch that is on disk, in log order, before the one who committed it does. */
export interface CommitObserver {
  committed(batch: Batch, events: StoredEvent[], rows: BatchRows): void;
  /** What was committed may be otherwise than was said so far. */
  outcomeUnknown(): void;
  groupCommitted(events: StoredEvent[]): void;
}

/** Is told how writing goes. What it does must not throw. */
export interface CommitWatch {
  /** A group of batches came back from the writer; some of it may have failed for reasons of the disk. */
  groupWritten?(batches: number, failed: number, seconds: number): void;
  /** Writes fail, and why; null when they succeed again. */
  faultChanged?(fault: string | null): void;
  /** The store takes no commits in this process any more; only a restart helps. */
  stopped?(reason: string): void;
}

/** Writes one group at a time, each in one transaction. */
export interface GroupWriter {
  /** What became of each batch. Rejects with `StoreUnavailable` when nothing was written, and with `OutcomeUnknown`. */
  write(batches: BatchRows[]): Promise<BatchResult[]>;
  /** Writes something small. Resolves to what is wrong; null if it is on disk. */
  probe(): Promise<string | null>;
  close(): Promise<void>;
}

export interface CommitQueueParts {
  writer: GroupWriter;
  bodyText: BodyText;
  observer: CommitObserver;
  watch: CommitWatch;
}

export class CommitQueue {
  readonly #writer: GroupWriter;
  readonly #bodyText: BodyText;
  readonly #observer: CommitObserver;
  readonly #watch: CommitWatch;
  readonly #health: WriteHealth;
  #waiting: Waiting[] = [];
  readonly ahead = new Ahead();
  #isWriting = false;
  #scheduled = false;
  #broken: StoreUnavailable | null = null;
  #closing = false;

  constructor({ writer, bodyText, observer, watch }: CommitQueueParts) {
    this.#writer = writer;
    this.#bodyText = bodyText;
    this.#observer = observer;
    this.#watch = watch;
    this.#health = new WriteHealth({
      probe: () => writer.probe(),
      onFault: (fault) => watch.faultChanged?.(fault),
    });
  }

  commit(batch: Batch): Promise<StoredEvent[]> {
    const refusal = this.#refusal();
    if (refusal !== null) return Promise.reject(refusal);
    if (this.#waiting.length >= waitingMax) {
      const fault = `${waitingMax} commits are waiting for the disk`;
      this.#health.failed(fault);
      return Promise.reject(new StoreUnavailable(fault, { fault }));
    }
    return new Promise((resolve, reject) => {
      // What cannot be written as JSON is refused here, before anybody can build on it.
      const rows = toRows(batch, this.#bodyText);
      this.ahead.add(batch);
      this.#waiting.push({ batch, rows, resolve, reject });
      this.#schedule();
    });
  }

  get writeFault(): string | null {
    return this.#refusal()?.fault ?? this.#health.fault;
  }

  /** Somebody else has found that the disk is not to be reached. */
  reportFault(fault: string): void {
    if (!this.#closing) this.#health.failed(fault);
  }

  /** Throws when nothing is written any more. */
  assertOpen(): void {
    const refusal = this.#refusal();
    if (refusal !== null) throw refusal;
  }

  /** The writer takes no commits any more. */
  stop(reason: string, cause?: unknown): void {
    if (this.#broken !== null) return;
    const broken = new StoreUnavailable(reason, { fault: reason, cause });
    this.#broken = broken;
    for (const { reject } of this.#waiting) reject(broken);
    this.#waiting = [];
    this.ahead.clear();
    if (!this.#closing) this.#watch.stopped?.(reason);
  }

  /** What waits is still written; from here on nothing more is taken. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#health.close();
    while (this.#waiting.length > 0 || this.#isWriting) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await this.#writer.close();
  }

  #refusal(): StoreUnavailable | null {
    return this.#closing ? new StoreUnavailable("The store is closed", { fault: "closed" }) : this.#broken;
  }

  /** Waits for the end of this turn of the event loop: what else arrives in it joins the group. */
  #schedule(): void {
    if (this.#scheduled || this.#isWriting) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#writeGroup();
    });
  }

  async #writeGroup(): Promise<void> {
    if (this.#isWriting || this.#waiting.length === 0) return;
    this.#isWriting = true;
    const group = this.#waiting.splice(0, groupMax);
    const sentAt = performance.now();
    let results: BatchResult[];
    try {
      results = await this.#writer.write(group.map(({ rows }) => rows));
    } catch (error) {
      this.#isWriting = false;
      if (error instanceof OutcomeUnknown) this.#observer.outcomeUnknown();
      for (const { batch, reject } of group) {
        this.ahead.drop(batch);
        reject(error);
      }
      void this.#writeGroup();
      return;
    }
    this.#isWriting = false;
    // Before anything is made of this answer the writer gets its next group, so that it never waits for us.
    void this.#writeGroup();
    this.#settle(group, results, (performance.now() - sentAt) / 1000);
  }

  #settle(group: readonly Waiting[], results: readonly BatchResult[], seconds: number): void {
    this.#judge(results, seconds);
    if (results.some((result) => "unknown" in result)) this.#observer.outcomeUnknown();
    const settled = group.map((waiting, index) => settle(waiting, results[index]));
    for (const [index, { events }] of settled.entries()) {
      const waiting = group[index];
      if (waiting === undefined) continue;
      this.ahead.drop(waiting.batch);
      if (events !== null) this.#observer.committed(waiting.batch, events, waiting.rows);
    }
    const events = settled.flatMap((batch) => batch.events ?? []);
    if (events.length > 0) this.#observer.groupCommitted(events);
    for (const batch of settled) batch.tell();
  }

  #judge(results: readonly BatchResult[], seconds: number): void {
    const failures = results.filter((result) => "failed" in result || "unknown" in result);
    this.#watch.groupWritten?.(results.length, failures.length, seconds);
    const fault = failures.find((result) => result.fault !== null)?.fault ?? null;
    if (fault !== null) this.#health.failed(fault);
    else if (results.some((result) => "ok" in result)) this.#health.succeeded();
  }
}

/** Followers hear of an event before the one who committed it does, so that nobody can act on it out of order. */
function settle(
  { batch, resolve, reject }: Waiting,
  result: BatchResult | undefined,
): { events: StoredEvent[] | null; tell(): void } {
  if (result === undefined)
    return { events: null, tell: () => reject(new StoreUnavailable("The writer lost a batch")) };
  if ("unknown" in result) return { events: null, tell: () => reject(new OutcomeUnknown(result.unknown)) };
  if ("failed" in result) {
    const { failed, fault } = result;
    const error = fault === null ? new BatchFailed(failed) : new StoreUnavailable(failed, { fault });
    return { events: null, tell: () => reject(error) };
  }
  if ("conflict" in result) {
    const Conflict = result.conflict === "once" ? OnceConflict : VersionConflict;
    return { events: null, tell: () => reject(new Conflict(result.about)) };
  }
  const { first, sequences, previous } = result.ok;
  const events = batch.events.map((event, index) => ({
    ...event,
    position: first + index,
    sequence: sequences[index] ?? 0,
    previous: previous[index] ?? null,
  }));
  return { events, tell: () => resolve(events) };
}

/**
 * Batches on their way to the disk: what arrives while a group is being written waits and goes together as the next group, in order.
 * A batch is resolved only after the writer says that it is on disk.
 */

import { atOnce, inSlices, pauseIfLate } from "../slices.ts";
import { Ahead } from "./ahead.ts";
import { type BatchResult, type BatchRows, type BodyText, makeRows, type Numbered } from "./batch-rows.ts";
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
/** Events of a large batch that are told at once. */
const toldAtOnce = 500;

interface Waiting {
  batch: Batch;
  rows: BatchRows;
  resolve(events: StoredEvent[]): void;
  reject(error: unknown): void;
}

/** Hears of every batch that is on disk, in log order, before the one who committed it does. */
export interface CommitObserver {
  committed(batch: Batch, events: StoredEvent[], rows: BatchRows): void;
  /** The same of a large one, whose events are told in several groups after this. */
  committedLarge(batch: Batch): void;
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
  /**
   * What became of each batch. Rejects with `StoreUnavailable` when nothing was written, and with `OutcomeUnknown`. A large batch comes
   * alone, and must not hold the event loop.
   */
  write(batches: BatchRows[], isLarge: boolean): Promise<BatchResult[]>;
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
  /** Groups are told of in the order in which they were written. */
  #settled: Promise<void> = Promise.resolve();
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
    if (batch.isLarge) return this.#commitLarge(batch);
    return new Promise((resolve, reject) => {
      // What cannot be written as JSON is refused here, before anybody can build on it.
      const rows = atOnce(makeRows(batch, this.#bodyText));
      this.ahead.add(batch);
      this.#waiting.push({ batch, rows, resolve, reject });
      this.#schedule();
    });
  }

  /** Others may be written before it, so nobody builds on it ahead of time. */
  async #commitLarge(batch: Batch): Promise<StoredEvent[]> {
    const rows = await inSlices(makeRows(batch, this.#bodyText));
    this.assertOpen();
    return await new Promise((resolve, reject) => {
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
    await this.#settled;
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
    const group = this.#nextGroup();
    const sentAt = performance.now();
    let results: BatchResult[];
    try {
      const isLarge = group.some(({ batch }) => batch.isLarge);
      results = await this.#writer.write(
        group.map(({ rows }) => rows),
        isLarge,
      );
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
    const seconds = (performance.now() - sentAt) / 1000;
    this.#settled = this.#settled.then(() => this.#settle(group, results, seconds));
  }

  /** A large batch is a group of its own. */
  #nextGroup(): Waiting[] {
    const large = this.#waiting.findIndex(({ batch }) => batch.isLarge);
    const count = large === -1 ? groupMax : Math.max(1, Math.min(large, groupMax));
    return this.#waiting.splice(0, count);
  }

  async #settle(group: readonly Waiting[], results: readonly BatchResult[], seconds: number): Promise<void> {
    this.#judge(results, seconds);
    if (results.some((result) => "unknown" in result)) this.#observer.outcomeUnknown();
    const told: StoredEvent[] = [];
    const answers: (() => void)[] = [];
    for (const [index, waiting] of group.entries()) {
      const result = results[index];
      const { batch, rows, resolve, reject } = waiting;
      this.ahead.drop(batch);
      if (result === undefined || !("ok" in result)) answers.push(() => reject(refusalOf(result)));
      else if (batch.isLarge) await this.#settleLarge(waiting, result.ok);
      else {
        const events = numbered(batch, result.ok);
        this.#observer.committed(batch, events, rows);
        told.push(...events);
        answers.push(() => resolve(events));
      }
    }
    if (told.length > 0) this.#observer.groupCommitted(told);
    // Followers hear of an event before the one who committed it does, so that nobody can act on it out of order.
    for (const answer of answers) answer();
  }

  async #settleLarge({ batch, resolve }: Waiting, at: Numbered): Promise<void> {
    this.#observer.committedLarge(batch);
    const events: StoredEvent[] = [];
    for (let start = 0; start < batch.events.length; start += toldAtOnce) {
      const page = numbered(batch, at, start, start + toldAtOnce);
      this.#observer.groupCommitted(page);
      for (const event of page) events.push(event);
      await pauseIfLate();
    }
    resolve(events);
  }

  #judge(results: readonly BatchResult[], seconds: number): void {
    const failures = results.filter((result) => "failed" in result || "unknown" in result);
    this.#watch.groupWritten?.(results.length, failures.length, seconds);
    const fault = failures.find((result) => result.fault !== null)?.fault ?? null;
    if (fault !== null) this.#health.failed(fault);
    else if (results.some((result) => "ok" in result)) this.#health.succeeded();
  }
}

/** The events of a batch, or some of them, with their places in the log. */
function numbered({ events }: Batch, at: Numbered, start = 0, end = events.length): StoredEvent[] {
  return events.slice(start, end).map((event, index) => ({
    ...event,
    position: at.first + start + index,
    sequence: at.sequences[start + index] ?? 0,
    previous: at.previous[start + index] ?? null,
  }));
}

function refusalOf(result: Exclude<BatchResult, { ok: Numbered }> | undefined): Error {
  if (result === undefined) return new StoreUnavailable("The writer lost a batch");
  if ("unknown" in result) return new OutcomeUnknown(result.unknown);
  if ("conflict" in result) {
    const Conflict = result.conflict === "once" ? OnceConflict : VersionConflict;
    return new Conflict(result.about);
  }
  const { failed, fault } = result;
  return fault === null ? new BatchFailed(failed) : new StoreUnavailable(failed, { fault });
}

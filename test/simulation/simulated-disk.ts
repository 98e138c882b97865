/**
 * A disk that keeps what processes wrote to it, and its faults: writes take time, fail, or fail so that nobody knows what became of
 * them. What is written is written by the store's own SQLite code, into a database in memory.
 */

import { DatabaseSync } from "node:sqlite";
import type { BatchResult, BatchRows, Dropped } from "../../src/store/batch-rows.ts";
import { type FailPoint, watchFailPoints } from "../../src/store/fail-point.ts";
import type { Position, StoredEvent } from "../../src/store/port.ts";
import { StoreUnavailable } from "../../src/store/port.ts";
import { DatabaseWriter, messageOf } from "../../src/store/sqlite/database-writer.ts";
import { takeEpoch, WriterFenced } from "../../src/store/sqlite/epoch.ts";
import { HeldBlobs } from "../../src/store/sqlite/held-blobs.ts";
import { Reader } from "../../src/store/sqlite/reader.ts";
import { configure, migrate } from "../../src/store/sqlite/schema.ts";
import { type SqliteWriter, sqliteStore, type WriterStopped } from "../../src/store/sqlite/store.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";
import type { Machine, Owner } from "./machine.ts";
import type { DiskFate } from "./plan.ts";

/** Small: the databases of simulations are. */
const cacheKiB = 256;

/** What becomes of a group of batches on its way to the disk. */
export type WriteFate = "written" | "killed_before" | "killed_after" | DiskFate;

export interface DiskOptions {
  machine: Machine;
  /** Asked for each group of batches of a process. */
  fate(owner: Owner): WriteFate;
  kill(owner: Owner): void;
  /** Hears of what is on disk before anybody is told. */
  onWritten(events: readonly StoredEvent[]): void;
}

/** Databases in memory are found by their names. */
let disks = 0;

export class SimulatedDisk implements Disposable {
  readonly file = `file:/simulated-disk-${disks++}?vfs=memdb`;
  readonly blobs = new HeldBlobs();
  readonly reader: Reader;
  readonly options: DiskOptions;
  #seen: Position = 0;

  constructor(options: DiskOptions) {
    this.options = options;
    const db = new DatabaseSync(this.file);
    configure(db);
    migrate(db);
    this.reader = new Reader(this.file, cacheKiB);
    db.close();
  }

  [Symbol.dispose](): void {
    this.reader.close();
  }

  /** A process opens it; whoever had it open before cannot write any more. */
  open(owner: Owner, onStopped: WriterStopped): WholeStore {
    const db = new DatabaseSync(this.file);
    const epoch = takeEpoch(db, null);
    const reader = new Reader(this.file, cacheKiB);
    db.close();
    const writer = new SimulatedWriter(this, owner, epoch, onStopped);
    owner.onDeath(() => {
      writer.cut();
      reader.close();
    });
    return sqliteStore({
      reader,
      openWriter: () => writer,
      blobs: this.blobs,
      watch: {},
      shortage: () => null,
      release() {},
    });
  }

  /** After every write: tells what came with it. */
  look(): void {
    const events = this.reader.events(null, { after: this.#seen, limit: Number.MAX_SAFE_INTEGER });
    this.#seen = events.at(-1)?.position ?? this.#seen;
    if (events.length > 0) this.options.onWritten(events);
  }
}

class SimulatedWriter implements SqliteWriter {
  readonly #disk: SimulatedDisk;
  readonly #owner: Owner;
  readonly #writer: DatabaseWriter;
  readonly #onStopped: WriterStopped;
  #isCut = false;

  constructor(disk: SimulatedDisk, owner: Owner, epoch: number, onStopped: WriterStopped) {
    this.#disk = disk;
    this.#owner = owner;
    this.#writer = new DatabaseWriter(disk.file, epoch);
    this.#onStopped = onStopped;
  }

  cut(): void {
    this.#isCut = true;
    this.#writer.close();
  }

  write(batches: BatchRows[]): Promise<BatchResult[]> {
    return this.#later(() => this.#write(batches));
  }

  #write(batches: readonly BatchRows[]): BatchResult[] {
    const { options } = this.#disk;
    const fate = options.fate(this.#owner);
    if (fate === "killed_before") return this.#kill();
    const results = failing(fate, () => this.#writer.commit(batches));
    this.#disk.look();
    return fate === "killed_after" ? this.#kill() : results;
  }

  #kill(): BatchResult[] {
    this.#disk.options.kill(this.#owner);
    return [];
  }

  /** The disk works when it gets to it, and its answer takes its time as well. */
  #later<Result>(act: () => Result): Promise<Result> {
    const { machine } = this.#disk.options;
    return new Promise((resolve, reject) => {
      machine.after(machine.latency(2, 40), () => {
        let answer: () => void;
        try {
          const result = act();
          answer = () => resolve(result);
        } catch (error) {
          if (error instanceof WriterFenced) this.#onStopped(error.message);
          answer = () => reject(new StoreUnavailable(messageOf(error), { cause: error }));
        }
        if (!this.#isCut) machine.after(machine.latency(0.5, 20), answer);
      });
    });
  }

  probe(): Promise<string | null> {
    return this.#later(() => {
      const fate = this.#disk.options.fate(this.#owner);
      return fate.startsWith("killed") ? null : failing(fate, () => this.#writer.probe());
    });
  }

  forgetOnce(before: number): Promise<number> {
    return this.#later(() => this.#writer.forgetOnce(before));
  }

  dropBlobs(sha256s: string[], scannedThrough: Position): Promise<Dropped> {
    return this.#later(() => this.#writer.dropBlobs(sha256s, scannedThrough));
  }

  scrub(): Promise<void> {
    return this.#later(() => this.#writer.scrub());
  }

  async close(): Promise<void> {
    if (!this.#isCut) this.#writer.close();
    this.#isCut = true;
  }
}

/** Primary result codes of SQLite. */
const [ioError, diskFull] = [10, 13];

/** Where each fate shows inside of the writer. */
const failsAt: Partial<Record<WriteFate, { point: FailPoint; errcode: number; again: boolean }>> = {
  refused: { point: "commit.begun", errcode: diskFull, again: false },
  uncertain_lost: { point: "commit.syncing", errcode: ioError, again: false },
  uncertain_written: { point: "commit.durable", errcode: ioError, again: false },
  unknown_lost: { point: "commit.syncing", errcode: ioError, again: true },
  unknown_written: { point: "commit.durable", errcode: ioError, again: true },
};

function failing<Result>(fate: WriteFate, act: () => Result): Result {
  const failure = failsAt[fate];
  if (failure === undefined) return act();
  let hasFailed = false;
  watchFailPoints((name) => {
    // Where it cannot be read what became of it, it cannot be opened either.
    if (name !== failure.point && !(failure.again && hasFailed && name === "database.opened")) return;
    hasFailed = true;
    throw Object.assign(new Error("simulated"), { errcode: failure.errcode });
  });
  try {
    return act();
  } finally {
    watchFailPoints(null);
  }
}

/** The kernel's side of receipts: says which are due as commits reach the disk, and lets readers wait for them. */

import type { Position, StoredEvent } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { HarnessError } from "../core/errors.ts";
import { type LogTail, readLog } from "../core/log-tail.ts";
import { type DueReceipt, dueReceipt } from "./due.ts";

/** How far receipts are issued, in the store. */
export const receiptsCursor = "receipts";
/** A reader of receipts does not wait longer. */
const waitMsMax = 10_000;
/** Nor does who reads something else, in which receipts are found. */
const momentMs = 1000;
/** With no receipts due, the projection is told at least this often how far the log is, so that a restart reads little of it. */
const quietMax = 10_000;
/** Events that a start looks through before it is ready; what is left of more than that, the projection reads beside it. */
const readAtStartMax = 1000;

export interface ReceiptProgress {
  /** Resolves when everything that is on disk now has its receipt. */
  caughtUp(): Promise<void>;
  /** The same, but waits a moment at most, and does not mind if that was not enough. */
  nearlyCaughtUp(): Promise<void>;
}

/** Makes receipts, here or on another thread. */
export interface ReceiptMaker {
  /** The log has come this far, and these receipts became due since it was last said. */
  note(head: Position, due: readonly DueReceipt[]): void;
  close(): Promise<void>;
}

export interface MakerHooks {
  /** Everything up to this position has its receipt. */
  onReached(position: Position): void;
  /** Receipts cannot be issued now, which is tried again, or one of them not at all. */
  onError(error: unknown): void;
}

export interface FollowerOptions {
  store: Pick<WholeStore, "head" | "cursor" | "events">;
  tail: LogTail;
  make(hooks: MakerHooks): ReceiptMaker;
  onError(error: unknown): void;
}

interface Waiter {
  position: Position;
  resolve(): void;
}

export class ReceiptFollower implements ReceiptProgress {
  readonly #options: FollowerOptions;
  readonly #maker: ReceiptMaker;
  #reached: Position = 0;
  /** Where the last event is that calls for a receipt. */
  #lastDue: Position = 0;
  #lastNoted: Position = 0;
  #waiters: Waiter[] = [];
  #stopFollowing = () => {};

  constructor(options: FollowerOptions) {
    const { make, onError } = options;
    this.#options = options;
    this.#maker = make({ onReached: (position) => this.#reach(position), onError });
  }

  /** Once the key that signs is in the log. */
  async start(): Promise<void> {
    const { tail, store } = this.#options;
    this.#stopFollowing = tail.onCommit((events) => this.#hear(events));
    const head = await store.head();
    const cursor = await store.cursor(receiptsCursor);
    if (head - cursor <= readAtStartMax && !(await this.#isDueSince(cursor))) return;
    this.#lastDue = Math.max(this.#lastDue, head);
    this.#note(this.#lastDue, []);
  }

  /** Whether the last stop left something due. */
  async #isDueSince(cursor: Position): Promise<boolean> {
    for await (const page of readLog(this.#options.store, { after: cursor }))
      if (page.some((event) => dueReceipt(event) !== null)) return true;
    return false;
  }

  /** What is still due after the grace period is issued at the next start. */
  async close(graceMs: number): Promise<void> {
    if (graceMs > 0) await this.#wait(this.#lastDue, graceMs);
    this.#stopFollowing();
    await this.#maker.close();
  }

  get isCaughtUp(): boolean {
    return this.#reached >= this.#lastDue;
  }

  async caughtUp(): Promise<void> {
    const position = this.#lastDue;
    await this.#wait(position, waitMsMax);
    if (this.#reached < position)
      throw new HarnessError("service_unavailable", "Receipts are behind; try again soon.");
  }

  async nearlyCaughtUp(): Promise<void> {
    await this.#wait(this.#lastDue, momentMs);
  }

  /** Resolves when everything up to this position has its receipt, or when that takes too long. */
  async #wait(position: Position, waitMs: number): Promise<void> {
    if (this.#reached >= position) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { position, resolve };
    this.#waiters.push(waiter);
    const timer = setTimeout(resolve, waitMs);
    await promise;
    clearTimeout(timer);
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
  }

  #hear(events: readonly StoredEvent[]): void {
    const due = events.map(dueReceipt).filter((one) => one !== null);
    const head = events.at(-1)?.position ?? this.#lastNoted;
    this.#lastDue = due.at(-1)?.position ?? this.#lastDue;
    if (due.length > 0 || head - this.#lastNoted > quietMax) this.#note(head, due);
  }

  #note(head: Position, due: readonly DueReceipt[]): void {
    this.#lastNoted = head;
    this.#maker.note(head, due);
  }

  #reach(position: Position): void {
    this.#reached = Math.max(this.#reached, position);
    for (const { position: wanted, resolve } of this.#waiters) if (this.#reached >= wanted) resolve();
  }
}

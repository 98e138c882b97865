/**
 * Receipts follow the log. A task's last event names its receipt; this issues it behind the commit, in batches, so that no request
 * waits for a hash or a signature. It runs wherever the log can be read: on a thread of its own in a server, in the process in tests.
 *
 *   C1  Receipts are issued in the order of the events that they are about, and one commit at a time.
 *   C2  A commit moves the cursor from where it was. After a crash, what was due and is not issued is issued then, and nothing twice.
 *   C3  Every receipt that an event names is issued. If the log of its task cannot be read, the receipt says so. One that cannot be
 *       issued at all is left out and reported, so that it does not stop those of everybody else.
 */

import { failPoint } from "../../store/fail-point.ts";
import { type Batch, BatchFailed, type Position, type Store, VersionConflict } from "../../store/port.ts";
import type { WholeReads } from "../../store/whole-store.ts";
import { backoffMs } from "../../web/backoff.ts";
import { pause } from "../../web/pause.ts";
import { type Clock, timestamp } from "../core/clock.ts";
import { readLog } from "../core/log-tail.ts";
import { type PendingReceipt, ReceiptChains, type ReceiptIssuer } from "./chains.ts";
import { type DueReceipt, dueReceipt } from "./due.ts";
import { type MakerHooks, type ReceiptMaker, receiptsCursor } from "./follower.ts";
import { draftOf, type Run, readRun, readUnreadable } from "./read-run.ts";

/** Receipts in one commit. */
const batchMax = 64;
/** Due receipts held in memory; beyond that they are read from the log again. */
const queueMax = 1000;
/** After a crash, the log is read again from the saved cursor: it is saved at least this often. */
const unsavedMax = 10_000;
/** A task whose receipt cannot be made is tried again, in case it was the disk. */
const triesMax = 3;
/** After so many failures receipts are issued one by one, and the one that fails for a reason of its own is left out. */
const triesTogetherMax = 5;
const backoff = { firstMs: 50, mostMs: 10_000 };

export interface ProjectionOptions extends MakerHooks {
  store: Pick<Store, "of"> & Pick<WholeReads, "cursor" | "events">;
  /** Reads of one moment, which may be cheaper than one by one. */
  together?<T>(read: () => Promise<T>): Promise<T>;
  /** Resolves when it is on disk. */
  commit(batch: Batch): Promise<unknown>;
  issuer: ReceiptIssuer;
  clock: Clock;
}

/** The store takes no commits now, which is no fault of what is committed. */
class NotWritten extends Error {}

export class ReceiptProjection implements ReceiptMaker {
  readonly #options: ProjectionOptions;
  readonly #chains: ReceiptChains;
  /** What is due after the cursor, unless the log must be read for it. */
  #queue: DueReceipt[] = [];
  #isBehind = true;
  /** Everything up to here has its receipt; null before it was read. */
  #cursor: Position | null = null;
  /** The cursor that is on disk. */
  #saved: Position = 0;
  /** The last position that was heard of. */
  #head: Position = 0;
  #failures = 0;
  #running: Promise<void> | null = null;
  readonly #closed = new AbortController();

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.#chains = new ReceiptChains(options.store, options.issuer);
  }

  note(head: Position, due: readonly DueReceipt[]): void {
    this.#head = Math.max(this.#head, head);
    if (!this.#isBehind) {
      this.#queue.push(...due);
      if (this.#queue.length > queueMax) this.#fallBehind();
    }
    if (this.#hasWork) this.#wake();
  }

  /** What is still due is issued at the next start. */
  async close(): Promise<void> {
    this.#closed.abort();
  }

  get #hasWork(): boolean {
    return this.#isBehind || this.#queue.length > 0 || this.#head - this.#saved > unsavedMax;
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      if (this.#hasWork && !this.#closed.signal.aborted) this.#wake();
    });
  }

  /** The log has everything. */
  #fallBehind(): void {
    this.#isBehind = true;
    this.#queue = [];
  }

  async #run(): Promise<void> {
    const { onError } = this.#options;
    while (this.#hasWork && !this.#closed.signal.aborted) {
      try {
        if (this.#isBehind) await this.#readOn();
        else if (this.#queue.length > 0) await this.#issueQueued();
        else await this.#commit([], this.#head);
        this.#failures = 0;
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        this.#failures += 1;
        if (this.#failures === 1) onError(error);
        // What became of the commit is on disk.
        this.#cursor = null;
        this.#chains.forget();
        this.#fallBehind();
        await pause(backoffMs(backoff, this.#failures), this.#closed.signal);
      }
    }
  }

  async #issueQueued(): Promise<void> {
    const due = this.#queue.slice(0, batchMax);
    const last = due.at(-1);
    if (last === undefined) return;
    await this.#issue(due, last.position);
    // It may have been dropped meanwhile, and be read again from the cursor.
    if (!this.#isBehind) this.#queue.splice(0, due.length);
  }

  /** Reads the log from the cursor up to what is heard live. */
  async #readOn(): Promise<void> {
    const { store } = this.#options;
    // All of the log up to here can be read now, whatever of it retention has removed.
    const head = this.#head;
    if (this.#cursor === null) this.#saved = await store.cursor(receiptsCursor);
    let through = this.#cursor ?? this.#saved;
    this.#cursor = through;
    for await (const page of readLog(store, { after: through })) {
      if (this.#closed.signal.aborted) return;
      const due = page.flatMap((event) => dueReceipt(event) ?? []);
      through = page.at(-1)?.position ?? through;
      for (let from = 0; from < due.length; from += batchMax) {
        const part = due.slice(from, from + batchMax);
        const isLast = from + batchMax >= due.length;
        await this.#issue(part, isLast ? through : (part.at(-1)?.position ?? through));
      }
      this.#reach(through);
    }
    this.#reach(Math.max(through, head));
    if (this.#head <= Math.max(through, head)) this.#isBehind = false;
  }

  async #issue(due: readonly DueReceipt[], through: Position): Promise<void> {
    if (this.#failures < triesTogetherMax) return await this.#issueTogether(due, through);
    for (const one of due) {
      try {
        await this.#issueTogether([one], one.position);
      } catch (error) {
        if (error instanceof NotWritten || this.#closed.signal.aborted) throw error;
        await this.#leaveOut(one, error);
      }
    }
  }

  async #leaveOut({ receiptId, taskId, position }: DueReceipt, cause: unknown): Promise<void> {
    const problem = `Receipt ${receiptId} of ${taskId} cannot be issued and is left out: ${String(cause)}`;
    this.#options.onError(new Error(problem));
    this.#chains.forget();
    await this.#commit([], position);
  }

  /** The receipt of a replay hangs on that of its source, which may be among those before it: that comes first. */
  async #issueTogether(due: readonly DueReceipt[], through: Position): Promise<void> {
    const { together = (read) => read() } = this.#options;
    const runs = await together(async () => {
      const found: Run[] = [];
      for (const one of due) found.push(await this.#read(one));
      return found;
    });
    const pending: PendingReceipt[] = [];
    for (const run of runs) {
      // A replay continues from the receipt of its source; what two ask for at once is asked for twice.
      const isAlone = run.task.replay !== null || run.due.kind === "requested";
      if (isAlone && pending.length > 0) await this.#commit(pending.splice(0), run.due.position - 1);
      // Equal replays share a receipt, and after a repair of the store the cursor may be old.
      const mayBeThere = isAlone || this.#failures > 0;
      if (!mayBeThere || !(await this.#isThere(run.due))) pending.push(await this.#prepare(run));
    }
    await this.#commit(pending, through);
  }

  async #commit(pending: readonly PendingReceipt[], to: Position): Promise<void> {
    const { commit, clock } = this.#options;
    const { batch, settle } = await this.#chains.link(pending, timestamp(clock.now()));
    if (pending.length > 0) failPoint("receipt.signed");
    try {
      await commit({ ...batch, cursor: { name: receiptsCursor, from: this.#saved, to } });
    } catch (error) {
      const isOfBatch = error instanceof VersionConflict || error instanceof BatchFailed;
      throw isOfBatch ? error : new NotWritten(String(error), { cause: error });
    }
    settle();
    this.#saved = to;
    this.#reach(to);
  }

  #reach(position: Position): void {
    this.#cursor = position;
    this.#options.onReached(position);
  }

  async #isThere({ tenantId, receiptId }: DueReceipt): Promise<boolean> {
    return (await this.#options.store.of(tenantId).get("receipt", receiptId)) !== undefined;
  }

  async #read(due: DueReceipt): Promise<Run> {
    const store = this.#options.store.of(due.tenantId);
    try {
      return await readRun(store, due);
    } catch (error) {
      if (this.#failures < triesMax) throw error;
      return await readUnreadable(store, due, error);
    }
  }

  async #prepare(run: Run): Promise<PendingReceipt> {
    const { due, task } = run;
    return {
      tenantId: due.tenantId,
      workspaceId: task.workspace_id,
      sessionId: task.session_id,
      taskId: task.id,
      ...(await draftOf(this.#options.store.of(due.tenantId), run)),
    };
  }
}

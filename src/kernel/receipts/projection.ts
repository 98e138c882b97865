/**
 * Receipts follow the log. A task's last event names its receipt; this issues it behind the commit, in batches, so that nobody who
 * works waits for a hash or a signature. Whoever reads receipts waits until they have caught up.
 *
 *   C1  Receipts are issued in the order of the events that they are about, and one commit at a time.
 *   C2  A commit moves the cursor from where it was. After a crash, what was due and is not issued is issued then, and nothing twice.
 *   C3  Every receipt that an event names is issued. If the log of its task cannot be read, the receipt says so.
 */

import type { Receipt } from "../../receipts/schema.ts";
import type { Position, StoredEvent, TenantStore } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { type Clock, timestamp } from "../clock.ts";
import { HarnessError } from "../errors.ts";
import { asRecorded, type RecordedEvent } from "../events.ts";
import { type LogTail, readLog } from "../log-tail.ts";
import type { PermissionRequestRecord } from "../resources/permission-request.ts";
import type { TaskRecord } from "../resources/task.ts";
import type { Issuer } from "../signing.ts";
import { type PendingReceipt, ReceiptChains } from "./chains.ts";
import { draftApprovalReceipt, draftTaskReceipt, type ReceiptDraft } from "./drafts.ts";
import { type DueEvent, dueReceipt, endingOf } from "./due.ts";
import { TaskFacts } from "./facts.ts";
import { draftReplayReceipt } from "./replay-receipt.ts";

const cursorName = "receipts";
/** Receipts in one commit. */
const batchMax = 64;
/** Due events held in memory; beyond that they are read from the log again. */
const queueMax = 1000;
/** After a crash, the log is read again from the saved cursor: it is saved at least this often. */
const unsavedMax = 10_000;
/** A task whose receipt cannot be made is tried again, in case it was the disk. */
const triesMax = 3;
const retryMs = { first: 50, most: 10_000 };
/** A reader of receipts does not wait longer. */
const waitMsMax = 10_000;

export interface ReceiptProgress {
  /** Resolves when everything that is on disk now has its receipt. */
  caughtUp(): Promise<void>;
}

export interface ProjectionOptions {
  store: WholeStore;
  tail: LogTail;
  issuer: Issuer;
  clock: Clock;
  onError(error: unknown): void;
}

interface Waiter {
  position: Position;
  resolve(): void;
}

export class ReceiptProjection implements ReceiptProgress {
  readonly #options: ProjectionOptions;
  readonly #chains: ReceiptChains;
  /** What is due after the cursor, unless the log must be read for it. */
  #queue: DueEvent[] = [];
  #isBehind = true;
  /** Everything up to here has its receipt; null before it was read. */
  #cursor: Position | null = null;
  /** The cursor that is on disk. */
  #saved: Position = 0;
  /** The last position that was heard of. */
  #head: Position = 0;
  #failures = 0;
  #running: Promise<void> | null = null;
  #waiters: Waiter[] = [];
  #stopFollowing = () => {};
  readonly #closed = new AbortController();

  constructor(options: ProjectionOptions) {
    this.#options = options;
    this.#chains = new ReceiptChains(options.store, options.issuer);
  }

  /** Once the key that signs is in the log. */
  async start(): Promise<void> {
    const { tail, store } = this.#options;
    this.#stopFollowing = tail.onCommit((events) => this.#hear(events));
    this.#head = Math.max(this.#head, await store.head());
    this.#wake();
  }

  /** What is still due after the grace period is issued at the next start. */
  async close(graceMs: number): Promise<void> {
    if (graceMs > 0) await this.#reach(this.#head, graceMs);
    this.#stopFollowing();
    this.#closed.abort();
  }

  get isCaughtUp(): boolean {
    return this.#done >= this.#head;
  }

  async caughtUp(): Promise<void> {
    const position = this.#head;
    await this.#reach(position, waitMsMax);
    if (this.#done < position)
      throw new HarnessError("service_unavailable", "Receipts are behind; try again soon.");
  }

  /** Resolves when everything up to this position has its receipt, or when that takes too long. */
  async #reach(position: Position, waitMs: number): Promise<void> {
    if (this.#done >= position) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { position, resolve };
    this.#waiters.push(waiter);
    const timer = setTimeout(resolve, waitMs);
    await promise;
    clearTimeout(timer);
    this.#waiters = this.#waiters.filter((other) => other !== waiter);
  }

  get #done(): Position {
    if (this.#isBehind) return this.#cursor ?? 0;
    const [next] = this.#queue;
    return next === undefined ? this.#head : next.event.position - 1;
  }

  #hear(events: readonly StoredEvent[]): void {
    this.#head = events.at(-1)?.position ?? this.#head;
    if (!this.#isBehind) {
      for (const event of events) {
        const due = dueReceipt(asRecorded(event));
        if (due !== null) this.#queue.push(due);
      }
      if (this.#queue.length > queueMax) this.#fallBehind();
    }
    if (this.#hasWork) this.#wake();
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
        await this.#pause();
      }
      this.#tell();
    }
  }

  async #issueQueued(): Promise<void> {
    const due = this.#queue.slice(0, batchMax);
    const last = due.at(-1);
    if (last === undefined) return;
    await this.#issue(due, last.event.position);
    // It may have been dropped meanwhile, and be read again from the cursor.
    if (!this.#isBehind) this.#queue.splice(0, due.length);
  }

  /** Reads the log from the cursor up to what is heard live. */
  async #readOn(): Promise<void> {
    const { store } = this.#options;
    if (this.#cursor === null) this.#saved = await store.cursor(cursorName);
    let through = this.#cursor ?? this.#saved;
    this.#cursor = through;
    for await (const page of readLog(store, { after: through })) {
      if (this.#closed.signal.aborted) return;
      const due = page.flatMap((event) => dueReceipt(asRecorded(event)) ?? []);
      through = page.at(-1)?.position ?? through;
      for (let from = 0; from < due.length; from += batchMax) {
        const part = due.slice(from, from + batchMax);
        const isLast = from + batchMax >= due.length;
        await this.#issue(part, isLast ? through : (part.at(-1)?.event.position ?? through));
      }
      this.#cursor = through;
      this.#tell();
    }
    if (through >= this.#head) this.#isBehind = false;
  }

  /** The receipt of a replay hangs on that of its source, which may be among those before it: that comes first. */
  async #issue(due: readonly DueEvent[], through: Position): Promise<void> {
    const pending: PendingReceipt[] = [];
    for (const event of due) {
      const task = await this.#taskOf(event);
      if (task.replay !== null && pending.length > 0) {
        await this.#commit(pending.splice(0), event.event.position - 1);
      }
      const receipt = await this.#prepare(event, task);
      if (receipt !== null) pending.push(receipt);
    }
    await this.#commit(pending, through);
  }

  async #commit(pending: readonly PendingReceipt[], to: Position): Promise<void> {
    const { store, clock } = this.#options;
    const { batch, settle } = await this.#chains.link(pending, timestamp(clock.now()));
    await store.commit({ ...batch, cursor: { name: cursorName, from: this.#saved, to } });
    settle();
    this.#saved = to;
    this.#cursor = to;
  }

  async #taskOf({ event }: DueEvent): Promise<TaskRecord> {
    const document = await this.#options.store.of(event.tenantId).get("task", event.taskId ?? "");
    if (document === undefined) throw new Error(`${event.taskId} has ended and is not there`);
    return document.body as TaskRecord;
  }

  /** Null when it is there: equal replays share a receipt, and after a repair of the store the cursor may be old. */
  async #prepare(due: DueEvent, task: TaskRecord): Promise<PendingReceipt | null> {
    const { receiptId, event } = due;
    const store = this.#options.store.of(event.tenantId);
    const mayBeThere = task.replay !== null || this.#failures > 0;
    if (mayBeThere && (await store.get("receipt", receiptId)) !== undefined) return null;
    const place = {
      tenantId: event.tenantId,
      workspaceId: task.workspace_id,
      sessionId: task.session_id,
      taskId: task.id,
    };
    try {
      return { ...place, ...(await drafted(store, due, task)) };
    } catch (error) {
      if (this.#failures < triesMax) throw error;
      return { ...place, draft: unreadable(due, task, error), after: null };
    }
  }

  #tell(): void {
    for (const { position, resolve } of this.#waiters) if (this.#done >= position) resolve();
  }

  async #pause(): Promise<void> {
    const ms = Math.min(retryMs.first * 2 ** (this.#failures - 1), retryMs.most);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#closed.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    clearTimeout(timer);
  }
}

async function drafted(
  store: TenantStore,
  due: DueEvent,
  task: TaskRecord,
): Promise<Pick<PendingReceipt, "draft" | "after">> {
  const { receiptId, event } = due;
  if (due.kind === "decided") {
    const request = await requestOf(store, due.event.resource.id);
    return { draft: draftApprovalReceipt(receiptId, task, request, due.event), after: null };
  }
  const ending = endingOf(due.event);
  const history = historyOf(store, task.id, event.position);
  if (task.replay !== null) {
    const replay = { task, plan: task.replay, ending, history };
    const { draft, previousHash } = await draftReplayReceipt(store, receiptId, replay);
    return { draft, after: { previousHash } };
  }
  const facts = new TaskFacts();
  for await (const page of history) for (const recorded of page) facts.add(recorded);
  facts.noteRedactions(JSON.stringify(event.payload));
  return { draft: draftTaskReceipt({ receiptId, task, ending, facts, event: due.event }), after: null };
}

/** The events of a task up to its end. */
async function* historyOf(
  store: TenantStore,
  taskId: string,
  through: Position,
): AsyncGenerator<RecordedEvent[]> {
  for await (const page of readLog(store, { taskId, after: 0 })) {
    const events = page.filter(({ position }) => position <= through).map(asRecorded);
    if (events.length > 0) yield events;
    if (events.length < page.length) return;
  }
}

async function requestOf(store: TenantStore, id: string): Promise<PermissionRequestRecord> {
  const document = await store.get("permission_request", id);
  if (document === undefined) throw new Error(`${id} was decided and is not there`);
  return document.body as PermissionRequestRecord;
}

/** What can be said of a task whose log cannot be read. */
function unreadable(due: DueEvent, task: TaskRecord, error: unknown): ReceiptDraft {
  const problem = error instanceof Error ? error.message : String(error);
  const replay_input: Receipt["replay_input"] = {
    determinism: "unavailable",
    materials: [],
    unavailable_reason: `The log of the task could not be read: ${problem.slice(0, 500)}`,
  };
  if (due.kind === "decided") throw error;
  const facts = new TaskFacts();
  const ending = endingOf(due.event);
  const draft = draftTaskReceipt({ receiptId: due.receiptId, task, ending, facts, event: due.event });
  return { ...draft, replay_input, redactions: [] };
}

/**
 * The main thread's side of the writer: batches that arrive while a group is being written wait and go together as
 * the next group. Resolves a batch only after the writer says that it is on disk.
 */

import type { Worker } from "node:worker_threads";
import { writerModule } from "../../package-files.ts";
import { startThread } from "../../start-thread.ts";
import { Ahead } from "../ahead.ts";
import { neighbours } from "../neighbours.ts";
import {
  type Batch,
  BatchFailed,
  type NewDocument,
  type NewEvent,
  OnceConflict,
  OutcomeUnknown,
  type Position,
  type StoredEvent,
  StoreUnavailable,
  VersionConflict,
} from "../port.ts";
import { WriteHealth } from "../write-health.ts";
import { bytesOf, memberOf } from "./document-body.ts";
import type {
  BatchResult,
  BatchRows,
  DocumentRow,
  Dropped,
  LogRow,
  Request,
  Response,
  WriterOptions,
} from "./protocol.ts";

/** Batches waiting for the disk; past this the store is hopelessly behind and says so instead of growing. */
const waitingMax = 20_000;
/** Batches in one transaction, so that one group never holds the disk for long. */
const groupMax = 512;

interface Waiting {
  batch: Batch;
  rows: BatchRows;
  resolve(events: StoredEvent[]): void;
  reject(error: Error): void;
}

/** Hears of every batch that is on disk, in log order, before the one who committed it does. */
export interface CommitObserver {
  committed(batch: Batch, events: StoredEvent[], bodyBytes: (index: number) => number): void;
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

export class GroupCommit {
  readonly #options: WriterOptions;
  /** A thread costs a start and memory, and a store may have nothing to write: it comes with the first request. */
  #worker: Worker | null = null;
  readonly #observer: CommitObserver;
  readonly #watch: CommitWatch;
  readonly #health: WriteHealth;
  #waiting: Waiting[] = [];
  readonly ahead = new Ahead();
  #writing: Waiting[] | null = null;
  #sentAt = 0;
  #scheduled = false;
  #broken: StoreUnavailable | null = null;
  #closing = false;
  #replies: { resolve(response: Response): void; reject(error: Error): void }[] = [];

  constructor(options: WriterOptions, observer: CommitObserver, watch: CommitWatch) {
    this.#options = options;
    this.#observer = observer;
    this.#watch = watch;
    this.#health = new WriteHealth({
      probe: () => this.#probe(),
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
      const rows = toRows(batch);
      this.ahead.add(batch);
      this.#waiting.push({ batch, rows, resolve, reject });
      this.#schedule();
    });
  }

  get writeFault(): string | null {
    return this.#refusal()?.fault ?? this.#health.fault;
  }

  async forgetOnce(before: number): Promise<number> {
    const refusal = this.#refusal();
    if (refusal !== null) throw refusal;
    const response = await this.#ask({ type: "forget_once", before });
    return response.type === "forgotten" ? response.count : 0;
  }

  async dropBlobs(sha256s: string[], scannedThrough: Position): Promise<Dropped> {
    const refusal = this.#refusal();
    if (refusal !== null) throw refusal;
    const response = await this.#ask({ type: "drop_blobs", sha256s, scannedThrough });
    if (response.type === "dropped") {
      const { kept, count, bytes } = response;
      return { kept, count, bytes };
    }
    return { kept: sha256s, count: 0, bytes: 0 };
  }

  async scrub(): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== null) throw refusal;
    await this.#ask({ type: "scrub" });
  }

  /** What waits is still written; from here on nothing more is taken. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#health.close();
    while (this.#waiting.length > 0 || this.#writing !== null) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.#worker === null) return;
    if (this.#broken === null) await this.#ask({ type: "close" });
    await this.#worker.terminate();
  }

  #refusal(): StoreUnavailable | null {
    return this.#closing ? new StoreUnavailable("The store is closed", { fault: "closed" }) : this.#broken;
  }

  /** Waits for the end of this turn of the event loop: what else arrives in it joins the group. */
  #schedule(): void {
    if (this.#scheduled || this.#writing !== null) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#sendGroup();
    });
  }

  #sendGroup(): void {
    if (this.#writing !== null || this.#waiting.length === 0) return;
    this.#writing = this.#waiting.splice(0, groupMax);
    this.#sentAt = performance.now();
    this.#send({ type: "commit", batches: this.#writing.map((waiting) => waiting.rows) });
  }

  #receive(response: Response): void {
    if (response.type === "fenced") {
      this.#break(response.reason);
      return;
    }
    if (response.type !== "committed") {
      const reply = this.#replies.shift();
      if (response.type === "failed") reply?.reject(new StoreUnavailable(response.reason));
      else reply?.resolve(response);
      return;
    }
    const group = this.#writing ?? [];
    const seconds = (performance.now() - this.#sentAt) / 1000;
    this.#writing = null;
    // Before anything is made of this answer the writer gets its next group, so that it never waits for us.
    this.#sendGroup();
    this.#judge(response.results, seconds);
    if (response.results.some((result) => "unknown" in result)) this.#observer.outcomeUnknown();
    const settled = group.map((waiting, index) => settle(waiting, response.results[index]));
    for (const [index, { events }] of settled.entries()) {
      const waiting = group[index];
      if (waiting === undefined) continue;
      this.ahead.drop(waiting.batch);
      if (events === null) continue;
      this.#observer.committed(waiting.batch, events, (index) => bytesOf(waiting.rows.put[index]?.[9] ?? ""));
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

  async #probe(): Promise<string | null> {
    const response = await this.#ask({ type: "probe" });
    return response.type === "probed" ? response.fault : null;
  }

  #send(request: Request): void {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage(request);
  }

  #startWorker(): Worker {
    const worker = startThread(writerModule, "bridle-writer", this.#options);
    worker.once("error", (error) => this.#ended("the writer thread failed", error));
    worker.on("message", (response: Response) => this.#receive(response));
    worker.once("exit", () => this.#ended("the writer thread ended"));
    return worker;
  }

  #reply(): Promise<Response> {
    return new Promise((resolve, reject) => this.#replies.push({ resolve, reject }));
  }

  #ask(request: Request): Promise<Response> {
    const reply = this.#reply();
    this.#send(request);
    return reply;
  }

  /** A thread that ends by itself does not say how far it was with the group that it had. */
  #ended(reason: string, cause?: unknown): void {
    for (const { reject } of this.#writing ?? []) reject(new OutcomeUnknown(reason, { cause }));
    this.#writing = null;
    this.#break(reason, cause);
  }

  #break(reason: string, cause?: unknown): void {
    if (this.#broken !== null) return;
    const broken = new StoreUnavailable(reason, { fault: reason, cause });
    this.#broken = broken;
    for (const waiting of [...(this.#writing ?? []), ...this.#waiting]) waiting.reject(broken);
    for (const reply of this.#replies.splice(0)) reply.reject(broken);
    this.#writing = null;
    this.#waiting = [];
    this.ahead.clear();
    if (!this.#closing) this.#watch.stopped?.(reason);
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

function toRows(batch: Batch): BatchRows {
  return {
    expect: batch.expect.map(({ id, version }) => [id, version]),
    log: neighbours(batch.events).map((run) => ({
      row: toLogRow(run),
      resourceIds: run.map(({ resource }) => resource.id),
    })),
    put: documentRows(batch),
    regained: batch.put.flatMap(({ id, regained }): BatchRows["regained"] =>
      regained === undefined ? [] : [[id, regained]],
    ),
    texts: batch.put.flatMap(({ id, index: { text } }): BatchRows["texts"] =>
      text === undefined ? [] : [[id, text]],
    ),
    blobs: batch.blobs,
    once: batch.once ?? null,
    rewrite: (batch.rewrite ?? []).map(({ position, payload, replay }) => ({
      position,
      payload: JSON.stringify(payload),
      replay: replay === undefined ? null : JSON.stringify(replay),
    })),
    rewriteOnce: batch.rewriteOnce ?? [],
    trim: batch.trim ?? null,
    cursor: batch.cursor ?? null,
  };
}

function documentRows({ put, expect, events }: Batch): DocumentRow[] {
  const created = new Set(expect.flatMap(({ id, version }) => (version === 0 ? [id] : [])));
  return put.map((document) => {
    const isNew = created.has(document.id);
    const first = isNew ? events.find(({ resource }) => resource.id === document.id) : undefined;
    return toDocumentRow(document, memberOf(document, first) ?? JSON.stringify(document.body));
  });
}

function toDocumentRow({ id, kind, index }: NewDocument, body: string): DocumentRow {
  const { tenantId, isListed = true, workspaceId = null, sessionId = null, taskId = null } = index;
  const { ownerId = null, status = null, wakeAt = null, rank = null, label = null } = index;
  const listedIn = isListed ? tenantId : null;
  const found = [id, kind, tenantId, listedIn, workspaceId, sessionId, taskId, status, wakeAt] as const;
  return [...found, body, ownerId, rank, label];
}

function toLogRow(run: [NewEvent, ...NewEvent[]]): LogRow {
  const [{ tenantId, workspaceId, sessionId, taskId, actor, keyId = null, createdAt }] = run;
  const events = run.map(({ event, resource, payload, replay, imported }) => {
    const entry = [event, resource.object, resource.id, payload];
    if (imported !== undefined) return [...entry, replay ?? null, imported];
    return replay === undefined ? entry : [...entry, replay];
  });
  return [tenantId, workspaceId, sessionId, taskId, actor, keyId, createdAt, JSON.stringify(events)];
}

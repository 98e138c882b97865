/**
 * The main thread's side of the writer: batches that arrive while a group is being written wait and go together as
 * the next group. Resolves a batch only after the writer says that it is on disk.
 */

import { Worker } from "node:worker_threads";
import { type Batch, OnceConflict, type StoredEvent, StoreUnavailable, VersionConflict } from "../port.ts";
import type { BatchResult, BatchRows, Request, Response } from "./protocol.ts";

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

export class GroupCommit {
  readonly #worker: Worker;
  readonly #onCommit: (events: StoredEvent[]) => void;
  #waiting: Waiting[] = [];
  #writing: Waiting[] | null = null;
  #scheduled = false;
  #broken: Error | null = null;
  #replies: ((response: Response) => void)[] = [];

  private constructor(worker: Worker, onCommit: (events: StoredEvent[]) => void) {
    this.#worker = worker;
    this.#onCommit = onCommit;
  }

  static async start(file: string, onCommit: (events: StoredEvent[]) => void): Promise<GroupCommit> {
    const script = import.meta.url.endsWith(".ts") ? "./writer.ts" : "./writer.js";
    const worker = new Worker(new URL(script, import.meta.url), {
      workerData: { file },
      name: "bridle-writer",
    });
    const writer = new GroupCommit(worker, onCommit);
    const ready = writer.#reply();
    const failed = new Promise<never>((_, reject) => {
      worker.once("error", (thrown) => {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        writer.#break(error);
        reject(error);
      });
    });
    worker.on("message", (response: Response) => writer.#receive(response));
    await Promise.race([ready, failed]);
    failed.catch(() => {});
    return writer;
  }

  commit(batch: Batch): Promise<StoredEvent[]> {
    if (this.#broken !== null) return Promise.reject(this.#broken);
    if (this.#waiting.length >= waitingMax) {
      return Promise.reject(new StoreUnavailable(`${waitingMax} commits wait for the disk already`));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, rows: toRows(batch), resolve, reject });
      this.#schedule();
    });
  }

  async forgetOnce(before: number): Promise<number> {
    const response = await this.#ask({ type: "forget_once", before });
    return response.type === "forgotten" ? response.count : 0;
  }

  async close(): Promise<void> {
    while (this.#waiting.length > 0 || this.#writing !== null) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (this.#broken === null) await this.#ask({ type: "close" });
    this.#broken = new StoreUnavailable("The store is closed");
    await this.#worker.terminate();
  }

  /** Waits for the end of this turn of the event loop: what else arrives in it joins the group. */
  #schedule(): void {
    if (this.#scheduled || this.#writing !== null) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#writing !== null || this.#waiting.length === 0) return;
      this.#writing = this.#waiting.splice(0, groupMax);
      this.#send({ type: "commit", batches: this.#writing.map((waiting) => waiting.rows) });
    });
  }

  #receive(response: Response): void {
    if (response.type !== "committed") {
      this.#replies.shift()?.(response);
      return;
    }
    const group = this.#writing ?? [];
    this.#writing = null;
    if (this.#waiting.length > 0) this.#schedule();
    const settled = group.map((waiting, index) => settle(waiting, response.results[index]));
    const events = settled.flatMap((batch) => batch.events);
    if (events.length > 0) this.#onCommit(events);
    for (const batch of settled) batch.tell();
  }

  #send(request: Request): void {
    this.#worker.postMessage(request);
  }

  #reply(): Promise<Response> {
    return new Promise((resolve) => this.#replies.push(resolve));
  }

  #ask(request: Request): Promise<Response> {
    const reply = this.#reply();
    this.#send(request);
    return reply;
  }

  #break(error: Error): void {
    this.#broken = new StoreUnavailable("The writer stopped", { cause: error });
    for (const waiting of [...(this.#writing ?? []), ...this.#waiting]) waiting.reject(this.#broken);
    this.#writing = null;
    this.#waiting = [];
  }
}

/** Followers hear of an event before the one who committed it does, so that nobody can act on it out of order. */
function settle(
  { batch, resolve, reject }: Waiting,
  result: BatchResult | undefined,
): { events: StoredEvent[]; tell(): void } {
  if (result === undefined)
    return { events: [], tell: () => reject(new StoreUnavailable("The writer lost a batch")) };
  if ("failed" in result) return { events: [], tell: () => reject(new StoreUnavailable(result.failed)) };
  if ("conflict" in result) {
    const Conflict = result.conflict === "once" ? OnceConflict : VersionConflict;
    return { events: [], tell: () => reject(new Conflict(result.about)) };
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
    expect: batch.expect.map(({ id, version }) => ({ id, version })),
    events: batch.events.map((event) => ({
      event: event.event,
      object: event.resource.object,
      resourceId: event.resource.id,
      tenantId: event.tenantId,
      workspaceId: event.workspaceId,
      sessionId: event.sessionId,
      taskId: event.taskId,
      actor: event.actor,
      createdAt: event.createdAt,
      payload: JSON.stringify(event.payload),
    })),
    put: batch.put.map(({ kind, id, index, body }) => ({ kind, id, index, body: JSON.stringify(body) })),
    blobs: batch.blobs,
    once: batch.once ?? null,
  };
}

/** Makes spans of events, in the order of the log. */

import { asRecorded, type RecordedEvent } from "../../kernel/core/events.ts";
import { readLog } from "../../kernel/core/log-tail.ts";
import { type Tracing, traceIdOf } from "../../kernel/core/trace.ts";
import type { WholeKernel } from "../../kernel/kernel.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { ContentReader } from "./content.ts";
import { describeStep, describeTask } from "./describe.ts";
import type { SpanFacts } from "./span.ts";
import { type Endings, TaskTrace, tracedEvents } from "./task-trace.ts";

/** Tasks that are remembered; others are read again from the log when something happens to them. */
const tasksMax = 2000;
/** Events that are so much older than those before them were recorded elsewhere, and came with an import. */
const importedMs = 60_000;

export interface GathererOptions {
  kernel: WholeKernel;
  tracing: Tracing;
  readerFor(tenantId: string): ContentReader;
  /** The time of the newest event that was seen before. */
  seenAt: number;
}

export class Gatherer {
  readonly #kernel: WholeKernel;
  readonly #tracing: Tracing;
  readonly #readerFor: GathererOptions["readerFor"];
  #newest: number;
  /** The latest last. Null for a task whose trace is not exported. */
  readonly #tasks = new Map<string, TaskTrace | null>();

  constructor({ kernel, tracing, readerFor, seenAt }: GathererOptions) {
    this.#kernel = kernel;
    this.#tracing = tracing;
    this.#readerFor = readerFor;
    this.#newest = seenAt;
  }

  /** The spans that ended with this event. */
  async take(event: RecordedEvent): Promise<SpanFacts[]> {
    if (this.#isImported(event) || event.taskId === null || !tracedEvents.has(event.event)) return [];
    const known = await this.#traceOf(event.taskId, event);
    if (known === null) return [];
    const endings = known.take(event);
    if (endings.task !== null) this.#tasks.delete(event.taskId);
    return await this.#describe(known.task, endings);
  }

  /** The time of the newest event that was seen. */
  get seenAt(): number {
    return this.#newest;
  }

  async #describe(task: TaskRecord, { steps, task: end }: Endings): Promise<SpanFacts[]> {
    const spans: SpanFacts[] = [];
    const reader = this.#readerFor(task.tenant_id);
    for (const step of steps) {
      const span = await describeStep(task, step, reader);
      if (span !== null) spans.push(span);
    }
    if (end === null) return spans;
    const source = task.replay === null ? null : await this.#read(task.tenant_id, task.replay.source_task_id);
    return [...spans, await describeTask(task, end, { reader, source })];
  }

  async #traceOf(taskId: string, event: RecordedEvent): Promise<TaskTrace | null> {
    const known = this.#tasks.get(taskId);
    this.#tasks.delete(taskId);
    const trace = known === undefined ? await this.#begin(taskId, event) : known;
    this.#tasks.set(taskId, trace);
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > tasksMax && oldest !== undefined) this.#tasks.delete(oldest);
    return trace;
  }

  /** A task that is not remembered: new, or begun before this process was. */
  async #begin(taskId: string, event: RecordedEvent): Promise<TaskTrace | null> {
    const isNew = event.event === "task.submitted";
    const task = isNew ? event.payload.task : await this.#read(event.tenantId, taskId);
    if (task === null || !this.#tracing.isSampled(traceIdOf(task), task.trace ?? null)) return null;
    const trace = new TaskTrace(task);
    if (isNew) return trace;
    for await (const page of readLog(this.#kernel.store.of(event.tenantId), { taskId, after: 0 })) {
      for (const stored of page) {
        if (stored.position >= event.position) return trace;
        if (tracedEvents.has(stored.event)) trace.take(asRecorded(stored));
      }
    }
    return trace;
  }

  async #read(tenantId: string, taskId: string): Promise<TaskRecord | null> {
    const found = await this.#kernel.store.of(tenantId).get("task", taskId);
    // Documents of this kind are folds of the kernel's own events.
    return (found?.body as TaskRecord | undefined) ?? null;
  }

  #isImported({ createdAt }: RecordedEvent): boolean {
    const at = Date.parse(createdAt);
    this.#newest = Math.min(Math.max(this.#newest, at), this.#kernel.clock.now());
    return at < this.#newest - importedMs;
  }
}

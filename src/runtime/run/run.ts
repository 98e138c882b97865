/**
 * One execution of one task: from the top of the agent's function until it ends, waits, or is overtaken.
 *
 * Invariants
 *   J1  What the agent was given is on disk before anything outside the process can depend on it: records wait in
 *       an outbox, and the outbox is written before a step's code runs, before a wait, and with the outcome.
 *   J2  The first step whose key differs from the journal ends the run; nothing after it is written.
 *   J3  Once the task has ended (canceled, above all), nothing this run does is written; nor is what branches that
 *       nobody waits for do after its last record.
 *   J4  A run may start while its task's submission is on the way to the disk. What it records is written after it or
 *       not at all, and by J1 none of its steps runs before that.
 *   J5  A run that only waits is dropped from memory. Nothing resolves its promises; it is run again when the answer
 *       is in the log.
 *   J6  The agent is given results in the order of the log, each in a turn of the event loop of its own, the first time
 *       and whenever the run is repeated. So branches that run side by side ask for their next steps in the same order.
 *       A result is given when it is recorded. One that others record, or that only the commit decides, is given
 *       later, and that moment is a record of its own: without one, it has not been given yet.
 *   J7  A record that the disk refuses stays in memory, and its write is repeated until it succeeds or the run is over. No step
 *       is run again because of it, and none begins while the disk takes no writes.
 */

import { isDeepStrictEqual } from "node:util";
import { setTimer } from "../../kernel/core/clock.ts";
import { runCommand } from "../../kernel/core/dispatch.ts";
import { HarnessError, isTransient } from "../../kernel/core/errors.ts";
import type { KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import { type TraceContext, traceOfStep } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { type Caller, systemCaller } from "../../policy/caller.ts";
import type { Redactor, Secret } from "../../policy/redact/redact.ts";
import { redactLong } from "../../policy/redact/search-budget.ts";
import { BatchFailed, type TenantStore } from "../../store/port.ts";
import { CircuitBreakers } from "../../tools/circuit-breaker.ts";
import { emptyWorld, type World } from "../world.ts";
import { Activity } from "./activity.ts";
import { watchEgress } from "./egress.ts";
import { Outbox } from "./outbox.ts";
import { Parking } from "./parking.ts";
import { never } from "./promises.ts";
import { QuestionQueue } from "./question-queue.ts";
import { type Change, recordRun, Superseded } from "./record-run.ts";
import type { Recording } from "./recording.ts";
import { RunningSteps } from "./running-steps.ts";
import { Sleeps } from "./sleeps.ts";
import { type Arrival, type Wait, Waits } from "./waits.ts";

/** Records that may wait for the disk before the agent is made to wait too. */
const outboxMaxDefault = 64;
/** Secrets remembered for the log; more than this are different in every run, and useless after it. */
const seenSecretsMax = 10_000;

export type RunEnd =
  /** What the agent's code threw, unless it meant to fail. */
  | { how: "ended"; thrown?: unknown }
  | { how: "superseded" }
  | { how: "parked"; until: number | null }
  | { how: "crashed"; error: unknown };

export interface RunOptions<R extends Recording = Recording> {
  kernel: Kernel;
  /** Nothing, for runs that have only what the log has. */
  world?: World;
  task: TaskRecord;
  /** What it has of its past. */
  recording: (run: Run) => R;
  agentName: string;
  /** While the server stops, no step may start. */
  isDraining: () => boolean;
  /** Records that may wait for the disk; with one, each has a commit of its own. */
  outboxMax?: number | undefined;
  /** Those of all runs of a process, so that one that was dropped from memory is known when it is run again. */
  sleeps?: Sleeps;
  circuits?: CircuitBreakers;
  /** Hears of everything that the code of a step throws. */
  onThrown?: (run: Run, thrown: unknown, span: StepSpan) => void;
}

export class Run<R extends Recording = Recording> {
  readonly kernel: Kernel;
  readonly world: World;
  readonly task: TaskRecord;
  readonly caller: Caller;
  readonly recording: R;
  readonly activity: Activity;
  readonly waits: Waits;
  readonly questions: QuestionQueue;
  readonly runningSteps: RunningSteps;
  readonly sleeps: Sleeps;
  readonly circuits: CircuitBreakers;
  readonly #onThrown: RunOptions["onThrown"];
  readonly #isDraining: () => boolean;
  readonly #outbox: Outbox;
  readonly #parking: Parking;
  readonly #abort = new AbortController();
  readonly #counters = new Map<string, number>();
  readonly #secrets: Secret[] = [];
  #redactor: Redactor;
  /** Host calls that the code waits for. */
  hostCallsOpen = 0;
  /** The record that ends the task is in the outbox or further. */
  #isConcluded = false;
  #end: RunEnd | null = null;
  readonly #ended = Promise.withResolvers<RunEnd>();
  /** Why the run cannot go on. */
  #fatal: { error: Error } | null = null;
  /** Hear of that, while something goes on that it ends. */
  readonly #onFatal = new Set<(error: Error) => void>();
  #failed = false;

  constructor({
    kernel,
    world = emptyWorld,
    task,
    recording,
    agentName,
    isDraining,
    outboxMax = outboxMaxDefault,
    sleeps = new Sleeps(kernel.clock),
    circuits = new CircuitBreakers(() => kernel.clock.now()),
    onThrown,
  }: RunOptions<R>) {
    this.kernel = kernel;
    this.world = world;
    this.task = task;
    this.runningSteps = new RunningSteps(kernel.clock);
    this.sleeps = sleeps;
    this.circuits = circuits;
    this.#onThrown = onThrown;
    this.#redactor = kernel.redactor;
    this.#isDraining = isDraining;
    this.caller = { ...systemCaller(task.tenant_id), actor: `agent:${agentName}` };
    const isEnded = () => this.#end !== null;
    this.#outbox = new Outbox({
      store: kernel.store,
      signal: this.signal,
      max: outboxMax,
      isOver: isEnded,
      write: (changes) => this.#write(changes),
      onFailed: (error) => this.#notRecorded(error),
    });
    this.waits = new Waits(kernel.clock, () => this.#parking.consider());
    this.questions = new QuestionQueue(task.pending?.step ?? null, (step) => this.waits.arrived.has(step));
    this.activity = new Activity({
      isEnded,
      isWriting: () => this.#outbox.isWriting,
      onStepEnded: () => this.#parking.consider(),
      onTurnTaken: () => {
        if (this.waits.size > 0) this.#parking.consider();
      },
    });
    this.#parking = new Parking({
      activity: this.activity,
      waits: this.waits,
      outbox: this.#outbox,
      isOver: () => this.isOver,
      flush: () => this.flush(),
      park: (until) => this.finish({ how: "parked", until }),
    });
    this.recording = recording(this);
  }

  /** Resolves when nothing of the run goes on in this process. */
  get ended(): Promise<RunEnd> {
    return this.#ended.promise;
  }

  /** What is given, unless the run cannot go on before, whatever the agent's code does: it does not repeat itself, or says nonsense. */
  unlessFatal<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#fatal !== null) reject(this.#fatal.error);
      this.#onFatal.add(reject);
      const stopListening = () => this.#onFatal.delete(reject);
      work.then(
        (value) => {
          stopListening();
          resolve(value);
        },
        (error: unknown) => {
          stopListening();
          reject(error);
        },
      );
    });
  }

  #cannotGoOn(error: Error): void {
    this.#fatal ??= { error };
    for (const reject of this.#onFatal) reject(error);
    this.#onFatal.clear();
  }

  /** What must not be written, whatever the agent does with it: what looks secret, and the secrets it was given. */
  get redactor(): Redactor {
    return this.#redactor;
  }

  /** Redacts what is new, however long its texts are. Other steps go on meanwhile, so nothing that was recorded is redacted so. */
  async redact<T>(use: (redactor: Redactor) => T): Promise<T> {
    const ended = this.activity.beginStep();
    try {
      return await redactLong(this.kernel.searchTexts, this.redactor, use);
    } finally {
      ended();
    }
  }

  /** Whether a value is what was recorded, which is without secrets; when they are equal, nothing has to be searched. */
  isRecordedAs(recorded: unknown, value: unknown): boolean {
    return isDeepStrictEqual(recorded, value) || isDeepStrictEqual(recorded, this.redactor.value(value));
  }

  /** From here on these are taken out of everything that the run records. */
  protect(secrets: readonly Secret[]): void {
    this.#secrets.push(...secrets);
    const { seenSecrets } = this.kernel;
    for (const secret of secrets) if (seenSecrets.size < seenSecretsMax) seenSecrets.add(String(secret));
    this.#redactor = this.kernel.redactor.with(this.#secrets);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Nothing of this run is in the middle of something: the process may stop. */
  get isIdle(): boolean {
    return this.#end !== null || (!this.activity.isStepRunning && this.#outbox.isEmpty);
  }

  /** The code waits for something outside, or for a time, and for nothing else. */
  get isWaiting(): boolean {
    const { activity, waits } = this;
    const isBusy = this.isOver || activity.isBusy || !this.#outbox.isEmpty;
    return !isBusy && (waits.size > 0 || activity.isStepWaiting);
  }

  /** The key of the next step of this kind and name: `step:build:2`. */
  key(prefix: string): string {
    const n = (this.#counters.get(prefix) ?? 0) + 1;
    this.#counters.set(prefix, n);
    return `${prefix}:${n}`;
  }

  reportThrown(span: StepSpan, thrown: unknown): void {
    this.#onThrown?.(this, thrown, span);
  }

  /** The run cannot go on. The agent's code hears nothing more, so it cannot catch this and go on. */
  async stop(error: Error): Promise<never> {
    this.#cannotGoOn(error);
    return await never();
  }

  /** Puts a record into the outbox. To be awaited if there is something to wait for. */
  record(change: Change): Promise<void> | null {
    if (this.isOver) return never();
    this.enqueue(change);
    return this.keepUp();
  }

  /** What others are told who do something for a step, if it is part of a trace. */
  traceOf(step: string): TraceContext | null {
    return traceOfStep(this.kernel.tracing, this.task, step);
  }

  /** Writes the record that ends the task, and all that came before it (J3). */
  async conclude(change: Change): Promise<void> {
    const room = this.keepUp();
    if (room !== null) await room;
    if (this.#end !== null) return await never();
    this.#isConcluded = true;
    this.#outbox.add(change);
    await this.flush();
  }

  /** Nothing more is recorded. */
  get isOver(): boolean {
    return this.#end !== null || this.#isConcluded;
  }

  /** Waits for the disk when too much waits for it. */
  keepUp(): Promise<void> | null {
    return this.#outbox.isFull ? this.flush() : null;
  }

  /** The same without ever waiting. */
  enqueue(change: Change): void {
    if (this.isOver) return;
    this.#outbox.add(change);
    this.#outbox.schedule(() => this.flush());
  }

  /** Everything noted so far is on disk when this resolves; for a run that was overtaken it never does. */
  async flush(): Promise<void> {
    if (!(await this.#outbox.flush())) return await never();
    this.#parking.consider();
  }

  #write(changes: Change[]): Promise<unknown> {
    const { redactor, task } = this;
    const parentId = this.#isConcluded && task.parent_step !== null ? task.parent_task_id : null;
    return runCommand(this.kernel, recordRun, this.caller, { taskId: task.id, parentId, changes, redactor });
  }

  /** What the store did not take is tried again by the runtime, within bounds; what cannot be decided at all fails the task, once. */
  #notRecorded(error: unknown): void {
    if (error instanceof Superseded) {
      this.finish({ how: "superseded" });
    } else if (isTransient(error) || error instanceof BatchFailed || this.#failed) {
      this.finish({ how: "crashed", error });
    } else {
      this.#failed = true;
      this.#cannotGoOn(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Runs code that touches the world. Everything before it is on disk when it starts (J1), and its result can be written (J7). */
  async perform<T>(code: () => Promise<T> | T, span?: StepSpan): Promise<T> {
    await this.flush();
    await this.#outbox.untilWritable();
    if (this.#isDraining() || this.isOver) return await never();
    const ended = this.activity.beginStep();
    const done = span === undefined ? null : this.runningSteps.begin(span);
    try {
      return await watchEgress(async () => await code());
    } finally {
      done?.();
      ended();
    }
  }

  /** Lets time pass. Rejects when the run is over meanwhile. */
  async pause(ms: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = setTimer(this.kernel.clock, resolve, ms);
    const onAbort = () => {
      stop();
      reject(this.signal.reason);
    };
    this.signal.addEventListener("abort", onAbort, { once: true });
    await this.activity.whileWaiting(() =>
      promise.finally(() => this.signal.removeEventListener("abort", onAbort)),
    );
  }

  /** What the tenant of its task has. */
  get own(): TenantStore {
    return this.kernel.store.of(this.task.tenant_id);
  }

  /** What ends a wait, unless the run is dropped from memory before. */
  async arrival(wait: Wait): Promise<Arrival> {
    const arrival = this.waits.add(wait);
    await this.flush();
    this.#parking.consider();
    return await arrival;
  }

  /** An answer came in while the run is in memory. */
  deliver(key: string, event: KernelEvent): void {
    this.waits.arrived.set(key, event);
    this.waits.end(key, event);
  }

  /** The task was canceled or otherwise ended by somebody else. */
  supersede(): void {
    this.finish({ how: "superseded" });
  }

  finish(end: RunEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.waits.clear();
    if (end.how !== "ended" && end.how !== "parked")
      this.#abort.abort(new HarnessError("conflict", `The run of ${this.task.id} has ${end.how}.`));
    this.#ended.resolve(end);
  }
}

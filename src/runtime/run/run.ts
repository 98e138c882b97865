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
import { unseal } from "../../kernel/core/content.ts";
import { runCommand } from "../../kernel/core/dispatch.ts";
import { HarnessError, isTransient } from "../../kernel/core/errors.ts";
import type { KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import { getRecord } from "../../kernel/core/read.ts";
import { type TraceContext, traceOfStep } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { Part } from "../../kernel/kinds/message.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { type Caller, systemCaller } from "../../policy/caller.ts";
import type { Redactor, Secret } from "../../policy/redact/redact.ts";
import { redactLong } from "../../policy/redact/search-budget.ts";
import { BatchFailed, type JsonValue, type TenantStore } from "../../store/port.ts";
import { CircuitBreakers } from "../../tools/circuit-breaker.ts";
import { Semaphore } from "../../web/semaphore.ts";
import { emptyWorld, type World } from "../world.ts";
import { watchEgress } from "./egress.ts";
import { NondeterministicRun } from "./failures.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { Outbox } from "./outbox.ts";
import { type Change, recordRun, Superseded } from "./record-run.ts";
import { RunningSteps } from "./running-steps.ts";
import { Sleeps } from "./sleeps.ts";
import { type Arrival, earliest, parkedFor, type Wait, Waits } from "./waits.ts";

/** Records that may wait for the disk before the agent is made to wait too. */
const outboxMaxDefault = 64;
/** Code that asks for nothing for so long is not going to. Between steps it only computes, so this is long. */
const standstillTurns = 3;
const standstillMs = 25;
/** Secrets remembered for the log; more than this are different in every run, and useless after it. */
const seenSecretsMax = 10_000;

/** What the code of a step gave, or failed with: `thrown` is the error itself, which is not written down as it is. */
export type Attempted =
  | { output: JsonValue }
  | { error: { code: string; message: string }; thrown?: unknown };

/** The same as it is written down. */
export type Recorded = { output: JsonValue } | { error: { code: string; message: string }; stack?: string };

export type RecallWithin = (entry: JournalEntry | undefined) => Promise<void>;

export type RunEnd =
  /** What the agent's code threw, unless it meant to fail. */
  | { how: "ended"; thrown?: unknown }
  | { how: "superseded" }
  | { how: "parked"; until: number | null }
  | { how: "crashed"; error: unknown };

export interface RunOptions {
  kernel: Kernel;
  /** Nothing, for runs that have only what the log has. */
  world?: World;
  task: TaskRecord;
  journal: Journal;
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

export class Run {
  readonly kernel: Kernel;
  readonly world: World;
  readonly task: TaskRecord;
  readonly caller: Caller;
  readonly runningSteps: RunningSteps;
  readonly sleeps: Sleeps;
  readonly circuits: CircuitBreakers;
  readonly #onThrown: RunOptions["onThrown"];
  protected readonly journal: Journal;
  readonly #isDraining: () => boolean;
  readonly #outbox: Outbox;
  readonly #abort = new AbortController();
  readonly #counters = new Map<string, number>();
  readonly #waits: Waits;
  readonly #arrived = new Map<string, KernelEvent>();
  readonly #secrets: Secret[] = [];
  #redactor: Redactor;
  #parkScheduled = false;
  #stepsRunning = 0;
  /** Steps that wait for a person or for a time before they go on, or before they begin. */
  #stepsWaiting = 0;
  /** Host calls that the code waits for. */
  hostCallsOpen = 0;
  /** Steps asked for and results given again so far: while this grows, the code is still busy. */
  #moves = 0;
  /** The last result that was given has had its turn of the event loop. */
  #turn: Promise<void> = Promise.resolve();
  /** A task asks people one thing at a time. */
  readonly #questions = new Semaphore(1);
  readonly #budgetQuestions = new Semaphore(1);
  #questionClosed: () => void = () => {};
  /** Branches of the code that wait for their turn, or for others to catch up. */
  #queued = 0;
  /** The record that ends the task is in the outbox or further. */
  #isConcluded = false;
  #end: RunEnd | null = null;
  #tellEnd: (end: RunEnd) => void = () => {};
  readonly ended: Promise<RunEnd>;
  #fail: (error: Error) => void = () => {};
  #failed = false;
  /** Rejects when the run cannot go on, whatever the agent's code does: it does not repeat itself, or says nonsense. */
  readonly fatal: Promise<never>;

  constructor({
    kernel,
    world = emptyWorld,
    task,
    journal,
    agentName,
    isDraining,
    outboxMax = outboxMaxDefault,
    sleeps = new Sleeps(kernel.clock),
    circuits = new CircuitBreakers(() => kernel.clock.now()),
    onThrown,
  }: RunOptions) {
    this.kernel = kernel;
    this.world = world;
    this.task = task;
    this.journal = journal;
    this.runningSteps = new RunningSteps(kernel.clock);
    this.sleeps = sleeps;
    this.circuits = circuits;
    this.#onThrown = onThrown;
    this.#redactor = kernel.redactor;
    this.#isDraining = isDraining;
    this.#outbox = new Outbox({
      store: kernel.store,
      signal: this.signal,
      max: outboxMax,
      isOver: () => this.#end !== null,
      write: (changes) => this.#write(changes),
      onFailed: (error) => this.#notRecorded(error),
    });
    this.#waits = new Waits(kernel.clock, () => this.#considerParking());
    this.caller = { ...systemCaller(task.tenant_id), actor: `agent:${agentName}` };
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    this.fatal = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.fatal.catch(() => {});
    // A question that is open since an earlier run comes first.
    if (task.pending !== null) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#questionClosed = resolve;
      void this.#questions.run(() => promise);
    }
  }

  get isReplay(): boolean {
    return false;
  }

  /** Whether the code must do what it did. */
  get isExact(): boolean {
    return true;
  }

  /** The name of an artifact, where it must not be left to chance. */
  artifactId(_step: string): string | undefined {
    return undefined;
  }

  /** The task that the agent believes it works on. */
  get actsAs(): string {
    return this.task.retry_of?.first_task_id ?? this.task.id;
  }

  /** The same on every attempt of a step, and nowhere else: for services that can recognize a repeated call. */
  idempotencyKey(step: string): string {
    return `${this.actsAs}:${step}`;
  }

  /** What must not be written, whatever the agent does with it: what looks secret, and the secrets it was given. */
  get redactor(): Redactor {
    return this.#redactor;
  }

  /** Redacts what is new, however long its texts are. Other steps go on meanwhile, so nothing that was recorded is redacted so. */
  async redact<T>(use: (redactor: Redactor) => T): Promise<T> {
    this.#stepsRunning += 1;
    try {
      return await redactLong(this.kernel.searchTexts, this.redactor, use);
    } finally {
      this.#stepsRunning -= 1;
      this.#considerParking();
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
    return this.#end !== null || (this.#stepsRunning === 0 && this.#outbox.isEmpty);
  }

  /** The code waits for something outside, or for a time, and for nothing else. */
  get isWaiting(): boolean {
    const stepsBusy = Math.max(0, this.#stepsRunning - this.#stepsWaiting);
    const isBusy = stepsBusy + this.#queued > 0 || !this.#outbox.isEmpty;
    return !this.#isOver && !isBusy && this.#waits.size + this.#stepsWaiting > 0;
  }

  /** The key of the next step of this kind and name: `step:build:2`. */
  key(prefix: string): string {
    const n = (this.#counters.get(prefix) ?? 0) + 1;
    this.#counters.set(prefix, n);
    return `${prefix}:${n}`;
  }

  /**
   * What the journal has for a step. Nothing recorded, but other steps left over: either they belong to a branch of
   * the code that runs beside this one and will ask for them in this turn, or the code has changed. What was recorded in
   * the middle of the step is come past by `within`, before the step's own ending.
   */
  async recall(key: string, within?: RecallWithin): Promise<JournalEntry | undefined> {
    const entry = await this.recallBegun(key);
    await within?.(entry);
    if (entry !== undefined && entry.ended !== null) await this.turnOf(key);
    return entry;
  }

  /** The same for a step that goes on beside the code: its ending has a turn of its own, later. */
  async recallBegun(key: string): Promise<JournalEntry | undefined> {
    const entry = await this.takeRecorded(key);
    if (entry === undefined) await this.othersCatchUp(key);
    else if (entry.arrived !== null) this.#arrived.set(key, entry.arrived);
    return entry;
  }

  /** A step that was never recorded is new once nothing recorded is left: other branches may have a long way to go. */
  protected async othersCatchUp(key: string): Promise<void> {
    const isCaughtUp = () => this.journal.firstLeft === undefined && this.journal.nextTurn === undefined;
    if (isCaughtUp() || (await this.holds(isCaughtUp))) return;
    await this.diverged(this.journal.firstLeft ?? "the end", key);
  }

  /** Waits until it is so; false when the code has come to a standstill before: it asks for nothing, we write nothing. */
  protected async holds(condition: () => boolean): Promise<boolean> {
    return await this.#whileQueued(() => this.#untilStandstill(condition));
  }

  /** A run with branches that are about to go on is not dropped from memory. */
  async #whileQueued<T>(waiting: () => Promise<T>): Promise<T> {
    this.#queued += 1;
    try {
      return await waiting();
    } finally {
      this.#queued -= 1;
      if (this.#waits.size > 0) this.#considerParking();
    }
  }

  async #untilStandstill(condition: () => boolean): Promise<boolean> {
    let seen = this.#moves;
    let turns = 0;
    let since = performance.now();
    while (!condition()) {
      await endOfTurn();
      if (this.#end !== null) return await never();
      turns += 1;
      if (seen !== this.#moves || this.#stepsRunning > 0 || this.#outbox.isWriting) {
        seen = this.#moves;
        turns = 0;
        since = performance.now();
      }
      if (turns >= standstillTurns && performance.now() - since >= standstillMs) return false;
    }
    return true;
  }

  /** Whether the journal has a step; it may be long until the code comes to it. */
  isRecorded(key: string): boolean {
    return this.journal.has(key);
  }

  /** The last attempt at a step in an earlier run, if it failed and was to be repeated. */
  attemptFailed(key: string): ReturnType<Journal["attemptFailed"]> {
    return this.journal.attemptFailed(key);
  }

  reportThrown(span: StepSpan, thrown: unknown): void {
    this.#onThrown?.(this, thrown, span);
  }

  /** Those of the steps that were recorded. */
  recordedOf(keys: readonly string[]): string[] {
    return keys.filter((key) => this.journal.has(key));
  }

  /** The quotas that the run has counted against, or was made to ask about. */
  get knownQuotaIds(): readonly string[] {
    return this.task.quota_ids;
  }

  protected async takeRecorded(key: string): Promise<JournalEntry | undefined> {
    this.#moves += 1;
    return this.journal.take(key);
  }

  /**
   * Results come back in the order in which they once came, so that a race has the same winner. If the one whose turn it
   * is is not asked for, the code has changed.
   */
  async turnOf(key: string): Promise<void> {
    const isNext = () => this.journal.nextTurn === key;
    while (!isNext() && !(await this.holds(isNext))) {
      const next = this.journal.nextTurn;
      if (next !== undefined && this.journal.has(next)) await this.leftOut(next, key);
    }
    await this.onTurn(key);
    await this.#takeTurn();
    this.#moves += 1;
    this.journal.given();
  }

  /** The rest of this turn of the event loop belongs to what is given now (J6). */
  async #takeTurn(): Promise<void> {
    const mine = this.#turn;
    this.#turn = mine.then(endOfTurn);
    await this.#whileQueued(() => mine);
  }

  /** What is in the log already is given now, and the log says so (J6). */
  async give(turn: string): Promise<void> {
    await this.othersCatchUp(turn);
    await this.#takeTurn();
    if (this.#isOver) return await never();
    this.enqueue((unit, task) => unit.emit(task, "span.updated", { given: turn }));
  }

  /** What has to be done before a result is given; the next one waits for it. */
  protected async onTurn(_key: string): Promise<void> {}

  /** A recorded step was not asked for when its turn came. */
  protected async leftOut(recorded: string, attempted: string): Promise<void> {
    await this.diverged(recorded, attempted);
  }

  /** What the code does at a recorded step is not what it did then. */
  async differs(recorded: string, attempted: string): Promise<void> {
    await this.diverged(recorded, attempted);
  }

  /** Whether a recorded step that is given something else now is done anew; with what it gave, when that is known already. */
  anew(_key: string): { own: JournalEntry | undefined } | null {
    return null;
  }

  /** A step that had begun when an earlier run was cut off is done again: after all that was recorded meanwhile. */
  async resume(key: string): Promise<void> {
    await this.othersCatchUp(key);
  }

  /** Before somebody outside is asked for something that nobody was asked for yet. */
  async beforeAsking(_whom: "host" | "remote agent", _key: string): Promise<void> {}

  /** Before an approval is used for something that is done now. */
  async beforeUsing(_key: string): Promise<void> {}

  /** The code does at a recorded step what it did then. */
  async repeat(_key: string): Promise<void> {}

  /** The run cannot go on. The agent's code hears nothing more, so it cannot catch this and go on. */
  async stop(error: Error): Promise<never> {
    this.#fail(error);
    return await never();
  }

  /** Ends the run as not repeatable. */
  async diverged(recorded: string, attempted: string): Promise<never> {
    return await this.stop(new NondeterministicRun(recorded, attempted));
  }

  /** After the function returned: steps it never asked for again are a divergence too. */
  async assertNothingLeft(): Promise<void> {
    const isNothingLeft = () => this.journal.firstLeft === undefined;
    if ((await isNothingLeft()) || (await this.holds(isNothingLeft))) return;
    throw new NondeterministicRun(this.journal.firstLeft ?? "a step", "the end");
  }

  /** Records what the agent did or was given. It is given when this resolves, without waiting for the disk (J1, J6). */
  async note(change: Change): Promise<void> {
    await this.keepUp();
    await this.#takeTurn();
    if (this.#isOver) return await never();
    this.enqueue(change);
  }

  /** Puts a record into the outbox. */
  async record(change: Change): Promise<void> {
    if (this.#isOver) return await never();
    this.enqueue(change);
    await this.keepUp();
  }

  /** What others are told who do something for a step, if it is part of a trace. */
  traceOf(step: string): TraceContext | null {
    return traceOfStep(this.kernel.tracing, this.task, step);
  }

  /** Writes the record that ends the task, and all that came before it (J3). */
  async conclude(change: Change): Promise<void> {
    await this.keepUp();
    if (this.#end !== null) return await never();
    this.#isConcluded = true;
    this.#outbox.add(change);
    await this.flush();
  }

  get #isOver(): boolean {
    return this.#end !== null || this.#isConcluded;
  }

  /** Waits for the disk when too much waits for it. */
  protected async keepUp(): Promise<void> {
    if (this.#outbox.isFull) await this.flush();
  }

  /** The same without ever waiting. */
  protected enqueue(change: Change): void {
    if (this.#isOver) return;
    this.#outbox.add(change);
    this.#outbox.schedule(() => this.flush());
  }

  /** Everything noted so far is on disk when this resolves; for a run that was overtaken it never does. */
  async flush(): Promise<void> {
    if (!(await this.#outbox.flush())) return await never();
    this.#considerParking();
  }

  async #write(changes: Change[]): Promise<void> {
    const { redactor, task } = this;
    const parentId = this.#isConcluded && task.parent_step !== null ? task.parent_task_id : null;
    await runCommand(this.kernel, recordRun, this.caller, { taskId: task.id, parentId, changes, redactor });
  }

  /** What the store did not take is tried again by the runtime, within bounds; what cannot be decided at all fails the task, once. */
  #notRecorded(error: unknown): void {
    if (error instanceof Superseded) {
      this.finish({ how: "superseded" });
    } else if (isTransient(error) || error instanceof BatchFailed || this.#failed) {
      this.finish({ how: "crashed", error });
    } else {
      this.#failed = true;
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Runs code that touches the world. Everything before it is on disk when it starts (J1), and its result can be written (J7). */
  async perform<T>(code: () => Promise<T> | T, span?: StepSpan): Promise<T> {
    await this.flush();
    await this.#outbox.untilWritable();
    if (this.#isDraining() || this.#isOver) return await never();
    this.#stepsRunning += 1;
    const done = span === undefined ? null : this.runningSteps.begin(span);
    try {
      return await watchEgress(async () => await code());
    } finally {
      done?.();
      this.#stepsRunning -= 1;
      this.#considerParking();
    }
  }

  /** A step waits for somebody outside, or for a time, before it goes on. The run stays in memory for it. */
  async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    this.#stepsWaiting += 1;
    try {
      return await wait();
    } finally {
      this.#stepsWaiting -= 1;
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
    await this.whileWaiting(() => promise.finally(() => this.signal.removeEventListener("abort", onAbort)));
  }

  /** Secrets are in no journal: they are read each time. */
  async readSecret(_key: string, read: () => Promise<Attempted>): Promise<Attempted> {
    return await this.perform(read);
  }

  /** What the tenant of its task has. */
  get own(): TenantStore {
    return this.kernel.store.of(this.task.tenant_id);
  }

  /** What a person answered. */
  async answerParts(messageId: string): Promise<Part[]> {
    const message = await getRecord(this.kernel, this.caller, "message", messageId);
    return await unseal(message.parts, this.own);
  }

  /** A task asks people one thing at a time; the next question waits for its turn. */
  inTurn<T>(step: string, ask: () => Promise<T>): Promise<T> {
    // Open since an earlier run; it may have been answered while this one was coming to it, and the next waits for it.
    if (this.task.pending?.step === step) return ask().finally(this.#questionClosed);
    if (this.#arrived.has(step)) return ask();
    return this.#questions.run(ask);
  }

  /** Branches that come to the same limit ask one after the other. */
  inBudgetTurn<T>(ask: () => Promise<T>): Promise<T> {
    return this.#budgetQuestions.run(ask);
  }

  /** Waits for an event from outside the run, or for a time. What has to be settled before it is given comes first. */
  async wait(wait: Wait, beforeGiving?: (event: KernelEvent) => Promise<void>): Promise<Arrival> {
    const event = this.#arrived.get(wait.key) ?? (await this.#arrival(wait));
    // A time may have been over before this run had come here; what was given before it still is.
    if (event === "elapsed") {
      await this.othersCatchUp(wait.key);
      return event;
    }
    await beforeGiving?.(event);
    await this.give(wait.key);
    return event;
  }

  async #arrival(wait: Wait): Promise<Arrival> {
    const arrival = this.#waits.add(wait);
    await this.flush();
    this.#considerParking();
    return await arrival;
  }

  /** An answer came in while the run is in memory. */
  deliver(key: string, event: KernelEvent): void {
    this.#arrived.set(key, event);
    this.#waits.end(key, event);
  }

  /** A signal came in while the run is in memory. */
  lookForSignals(): void {
    this.#waits.lookForSignals();
  }

  /** The clock was set. */
  measureAgain(): void {
    this.#waits.measureAgain();
  }

  /** The task was canceled or otherwise ended by somebody else. */
  supersede(): void {
    this.finish({ how: "superseded" });
  }

  finish(end: RunEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#waits.clear();
    if (end.how !== "ended" && end.how !== "parked")
      this.#abort.abort(new HarnessError("conflict", `The run of ${this.task.id} has ${end.how}.`));
    this.#tellEnd(end);
  }

  /** Looked at once this turn is over, when the agent's code has had its chance to ask for more. */
  #considerParking(): void {
    if (this.#parkScheduled) return;
    this.#parkScheduled = true;
    setImmediate(async () => {
      this.#parkScheduled = false;
      const waits = this.#onlyWaits();
      if (waits === null || !this.#outbox.isEmpty) return;
      const parked = parkedFor(waits);
      if (parked !== null) {
        const still = () => this.#onlyWaits()?.length === waits.length;
        this.#outbox.add((unit, task) => (still() ? unit.emit(task, "span.updated", { parked }) : task));
        await this.flush();
        if (!still()) return;
      }
      this.finish({ how: "parked", until: earliest(waits) });
    });
  }

  /** The waits, when there is nothing else and none of them is about to be over. */
  #onlyWaits(): Wait[] | null {
    const isBusy = this.#stepsRunning + this.#stepsWaiting + this.#queued > 0;
    return this.#isOver || isBusy ? null : this.#waits.long;
  }
}

/** A promise for code that must not go on. Nothing refers to it but that code, so both are collected together. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

export function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

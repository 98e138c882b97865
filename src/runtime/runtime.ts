/**
 * Decides which tasks run when. It learns of work from the log (what was submitted, answered, canceled) and from the
 * clock (what has become due), keeps a bounded number of runs in memory, and stops gently.
 */

import type { Logger } from "pino";
import { steadyNow } from "../kernel/core/clock.ts";
import { isTransient } from "../kernel/core/errors.ts";
import { asKernelEvent, type KernelEvent, type StepSpan, terminalEvents } from "../kernel/core/events.ts";
import { traceIdOf, traceOfTask } from "../kernel/core/trace.ts";
import type { WholeKernel } from "../kernel/kernel.ts";
import type { ReplayPlan } from "../kernel/kinds/replay.ts";
import type { TaskRecord } from "../kernel/kinds/task.ts";
import { isFinal } from "../kernel/tasks/lifecycle.ts";
import { Periodic } from "../periodic.ts";
import type { NewEvent, StoredEvent } from "../store/port.ts";
import { CircuitBreakers, type CircuitChange } from "../tools/circuit-breaker.ts";
import { pause } from "../web/pause.ts";
import type { Agent } from "./agents/agent.ts";
import type { AgentRegistry } from "./agents/registry.ts";
import { execute } from "./run/execute.ts";
import { executeReplay } from "./run/execute-replay.ts";
import { Journal } from "./run/journal.ts";
import { LiveRecording } from "./run/live-recording.ts";
import { openReplay } from "./run/open-replay.ts";
import { Run } from "./run/run.ts";
import { Sleeps } from "./run/sleeps.ts";
import { stackOf } from "./run/stack.ts";
import { ClockWatch } from "./scheduler/clock-watch.ts";
import { CrashedRuns } from "./scheduler/crashed-runs.ts";
import { DueReader } from "./scheduler/due-reader.ts";
import { LateSleepers } from "./scheduler/late-sleepers.ts";
import { PausedSessions } from "./scheduler/paused-sessions.ts";
import { ReadyQueue } from "./scheduler/ready-queue.ts";
import { answeredStep, hasLargeInput } from "./scheduler/task-news.ts";
import { emptyWorld, type World } from "./world.ts";

/** Tasks known to be ready; more than this stay on disk until the queue has emptied. */
const readyMax = 10_000;
const sweepEveryMs = 250;
/** Less than anybody would notice. */
const lookAgainMs = 5;
/** Idempotency records past their day are dropped this often. */
const forgetEveryMs = 60 * 60 * 1000;

export interface RuntimeOptions {
  kernel: WholeKernel;
  /** What agents can reach; nothing unless said. */
  world?: World;
  agents: AgentRegistry;
  logger: Logger;
  /** Runs in memory at once. */
  concurrency: number;
  /** Records of a run that may wait for the disk, where that is not left to the run. */
  outboxMax?: number;
  /** Whether agents may be replaced: then open tasks go on with the code that they started with. */
  keepsStartedCode?: boolean;
}

/** How much there is to do, now. */
export interface RuntimeLoad {
  /** Runs in memory, with those that are being loaded. */
  runs: number;
  /** Tasks that could run and wait for a place. */
  ready: number;
}

export interface Runtime {
  readonly load: RuntimeLoad;
  /** Whatever is to be done here now waits for somebody outside, or for a time. */
  readonly isQuiet: boolean;
  /** Takes up what has become due, for those who do not want to wait for the next look. */
  sweep(): Promise<void>;
  /** Starts nothing more and waits until no step is in the middle of something, at most this long. */
  drain(graceMs: number): Promise<{ interrupted: number }>;
}

export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const scheduler = new Scheduler(options);
  await scheduler.start();
  return scheduler;
}

class Scheduler implements Runtime {
  readonly #kernel: WholeKernel;
  readonly #world: World;
  readonly #agents: AgentRegistry;
  readonly #logger: Logger;
  readonly #concurrency: number;
  readonly #outboxMax: number | undefined;
  readonly #queue = new ReadyQueue(readyMax);
  readonly #runs = new Map<string, Run>();
  /** Tasks being loaded: no longer queued, not yet a run. */
  readonly #loading = new Set<string>();
  /** Of these, the ones for which something arrived that the load may have missed. */
  readonly #again = new Set<string>();
  readonly #missing = new Set<string>();
  readonly #crashed: CrashedRuns;
  /** The code of the open tasks that ran in this process, where it is kept. */
  readonly #startedWith: Map<string, Agent> | null;
  readonly #paused = new PausedSessions();
  readonly #due: DueReader;
  readonly #clockWatch: ClockWatch;
  readonly #sleeps: Sleeps;
  readonly #circuits: CircuitBreakers;
  readonly #lateSleepers: LateSleepers;
  #overflowed = false;
  readonly #sweeper: Periodic;
  readonly #forgetter: Periodic;
  #draining = false;
  #stopFollowing = () => {};

  constructor({ world = emptyWorld, keepsStartedCode = false, ...options }: RuntimeOptions) {
    const { kernel, agents, logger, concurrency, outboxMax } = options;
    this.#kernel = kernel;
    this.#due = new DueReader({ store: kernel.store, kind: "task" });
    this.#clockWatch = new ClockWatch(kernel.clock);
    this.#sleeps = new Sleeps(kernel.clock);
    this.#circuits = new CircuitBreakers(
      () => kernel.clock.now(),
      (change) => this.#reportCircuit(change),
    );
    this.#lateSleepers = new LateSleepers(kernel, this.#sleeps);
    this.#world = world;
    this.#agents = agents;
    this.#logger = logger;
    this.#concurrency = concurrency;
    this.#outboxMax = outboxMax;
    this.#crashed = new CrashedRuns({
      ...{ kernel, logger },
      about: (task) => this.#about(task),
      retry: (task) => {
        this.#enqueue(task.id, task.session_id);
        this.#dispatch();
      },
    });
    this.#startedWith = keepsStartedCode ? new Map() : null;
    this.#sweeper = new Periodic({
      everyMs: sweepEveryMs,
      work: () => this.#sweep(),
      onError: (error) =>
        logger.error({ event: "task.sweep_failed", err: error }, "Looking for due tasks failed; retrying"),
    });
    this.#forgetter = new Periodic({
      everyMs: forgetEveryMs,
      work: async () => void (await kernel.store.forgetOnce(kernel.clock.now())),
      onError: (error) =>
        logger.error(
          { event: "idempotency.sweep_failed", err: error },
          "Deleting old idempotency records failed; retrying",
        ),
    });
  }

  async start(): Promise<void> {
    const { tail, work } = this.#kernel;
    work.attach({
      facts: () => ({
        running: this.#runs.size + this.#loading.size,
        concurrency: this.#concurrency,
        queued: this.#queue.size,
        isDraining: this.#draining,
      }),
      runningSteps: (taskId) => this.#runs.get(taskId)?.runningSteps.list ?? null,
    });
    const stopHearing = tail.onCommit((events) => this.#hear(events));
    const stopProposed = tail.onProposed((events) => this.#startProposed(events));
    const stopWatching = this.#agents.onReplace(() => this.#lookAgain());
    this.#stopFollowing = () => {
      stopHearing();
      stopProposed();
      stopWatching();
    };
    await this.#paused.load(this.#kernel.store);
    await this.#forgetter.start();
    await this.#sweeper.start();
  }

  async drain(graceMs: number): Promise<{ interrupted: number }> {
    this.#draining = true;
    void this.#sweeper.stop();
    void this.#forgetter.stop();
    const { clock } = this.#kernel;
    const deadline = steadyNow(clock) + graceMs;
    const busy = () => [...this.#runs.values()].filter((run) => !run.isIdle).length + this.#loading.size;
    while (busy() > 0 && steadyNow(clock) < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const interrupted = busy();
    this.#stopFollowing();
    for (const run of this.#runs.values()) run.supersede();
    this.#runs.clear();
    return { interrupted };
  }

  get load(): RuntimeLoad {
    return { runs: this.#runs.size + this.#loading.size, ready: this.#queue.size };
  }

  get isQuiet(): boolean {
    const isBusy = this.#queue.size + this.#loading.size > 0 || this.#sweeper.isWorking;
    return !isBusy && [...this.#runs.values()].every((run) => run.isWaiting);
  }

  #hear(events: readonly StoredEvent[]): void {
    for (const stored of events) {
      const event = asKernelEvent(stored);
      const { object, id } = event.resource;
      if (object === "session" && this.#paused.note(event)) this.#overflowed = true;
      if (object !== "task" || event.replay !== undefined || event.imported !== undefined) continue;
      const answered = answeredStep(event);
      if (terminalEvents.has(event.event)) {
        this.#kernel.heldStates.forget(id);
        this.#startedWith?.delete(id);
      }
      if (event.event === "task.submitted") this.#enqueue(id, event.payload.task.session_id);
      else if (event.event === "task.canceled") this.#runs.get(id)?.supersede();
      else if (event.event === "vendor.bridle.signal.received") this.#signal(id, event.sessionId ?? "");
      else if (answered !== null) this.#answer(id, answered, event);
    }
    this.#dispatch();
  }

  /** A new task starts at once if there is room and nobody is before it; its records go to disk behind its submission. */
  #startProposed(events: readonly NewEvent[]): void {
    for (const event of events.map(asKernelEvent)) {
      // What is imported has ended elsewhere.
      if (event.event !== "task.submitted" || event.imported !== undefined) continue;
      if (this.#draining || this.#queue.size > 0 || !this.#hasRoom) continue;
      const { task } = event.payload;
      if (this.#paused.has(task.session_id)) continue;
      const hasPast = task.replay !== null || task.retry_of !== undefined;
      const agent = hasPast ? null : this.#agentFor(task);
      if (agent !== null && !hasLargeInput(task, events))
        void this.#follow(this.#start(task, new Journal(), agent));
    }
  }

  get #hasRoom(): boolean {
    return this.#runs.size + this.#loading.size < this.#concurrency;
  }

  #answer(taskId: string, step: string, event: KernelEvent): void {
    const run = this.#runs.get(taskId);
    if (run !== undefined) run.deliver(step, event);
    else this.#enqueue(taskId, event.sessionId ?? "");
  }

  #signal(taskId: string, sessionId: string): void {
    const run = this.#runs.get(taskId);
    if (run !== undefined) run.waits.lookForSignals();
    else this.#enqueue(taskId, sessionId);
  }

  #enqueue(taskId: string, sessionId: string): void {
    if (this.#runs.has(taskId) || this.#draining || this.#paused.has(sessionId)) return;
    if (!this.#queue.add(taskId, sessionId)) this.#overflowed = true;
  }

  #dispatch(): void {
    while (this.#hasRoom && !this.#draining) {
      const taskId = this.#queue.next()?.id;
      if (taskId === undefined) return;
      if (this.#loading.has(taskId)) this.#again.add(taskId);
      else if (!this.#runs.has(taskId)) void this.#run(taskId);
    }
  }

  async #run(taskId: string): Promise<void> {
    this.#loading.add(taskId);
    let run: Run | null = null;
    try {
      run = await this.#load(taskId);
    } catch (error) {
      this.#logger.error(
        { event: "task.load_failed", err: error, task_id: taskId },
        "A task could not be loaded",
      );
      // Once the database can be read again, it is found there.
      if (isTransient(error)) this.#overflowed = true;
    } finally {
      this.#loading.delete(taskId);
    }
    if (run !== null) return await this.#follow(run);
    this.#again.delete(taskId);
    this.#dispatch();
  }

  async #load(taskId: string): Promise<Run | null> {
    const { store } = this.#kernel;
    const document = await store.get("task", taskId);
    const seen = document?.body as TaskRecord | undefined;
    if (seen === undefined || isFinal(seen.status)) return null;
    const agent = this.#agentFor(seen);
    if (agent === null) return null;
    if (seen.replay !== null) return await this.#startReplay(seen, seen.replay, agent);
    return this.#start(seen, await this.#journalOf(seen), agent);
  }

  async #journalOf({ id, status, retry_of, tenant_id }: TaskRecord): Promise<Journal> {
    if (status === "SUBMITTED" && retry_of === undefined) return new Journal();
    const store = this.#kernel.store.of(tenant_id);
    // The sweep may find a task in the moment of its commit, before its events are read by anybody. If another server has taken over,
    // they never are.
    while (!this.#draining && (await store.events({ taskId: id, after: 0, limit: 1 })).length === 0)
      await pause(lookAgainMs);
    return await Journal.of(store, id);
  }

  async #startReplay(task: TaskRecord, plan: ReplayPlan, agent: Agent): Promise<Run> {
    const replay = await openReplay(
      { kernel: this.#kernel, world: this.#world, isDraining: () => this.#draining },
      task,
      plan,
      agent.name,
    );
    this.#runs.set(task.id, replay);
    this.#startedWith?.set(task.id, agent);
    void executeReplay(replay, agent).catch((error) => replay.finish({ how: "crashed", error }));
    void replay.ended.then(() => this.#kernel.replaySecrets.forget(task.id));
    return replay;
  }

  #start(task: TaskRecord, journal: Journal, agent: Agent): Run {
    const isDraining = () => this.#draining;
    const outboxMax = this.#outboxMax;
    const run = new Run({
      kernel: this.#kernel,
      world: this.#world,
      task,
      recording: (run) => new LiveRecording(run, journal),
      agentName: agent.name,
      isDraining,
      outboxMax,
      sleeps: this.#sleeps,
      circuits: this.#circuits,
      onThrown: (...thrown) => void this.#reportThrown(...thrown),
    });
    this.#runs.set(task.id, run);
    this.#startedWith?.set(task.id, agent);
    void execute(run, agent).catch((error) => run.finish({ how: "crashed", error }));
    return run;
  }

  /** Until the run leaves memory, and what has to be done about it then. */
  async #follow(run: Run): Promise<void> {
    const end = await run.ended;
    const { id, session_id: sessionId } = run.task;
    this.#runs.delete(id);
    if (end.how === "crashed") this.#crashed.add(run.task, end.error);
    else this.#crashed.forget(id);
    if (end.how === "ended" && end.thrown !== undefined) void this.#reportThrown(run, end.thrown);
    if (end.how !== "crashed" && end.how !== "parked") this.#startedWith?.delete(id);
    // The clock may have passed the end of a wait before the wait was on disk for the sweep to find.
    const now = this.#kernel.clock.now();
    const overdue = end.how === "parked" && end.until !== null && this.#due.hasPassed(end.until, now);
    if (this.#again.delete(id) || overdue) this.#enqueue(id, sessionId);
    this.#dispatch();
  }

  /** A task that has started keeps its version. If that is not loaded, the task waits for a server that has it. */
  #agentFor({ agent: { name, version }, id }: TaskRecord): Agent | null {
    const loaded = version === null ? this.#agents.newest(name) : this.#agents.version(name, version);
    const agent = this.#startedWith?.get(id) ?? loaded;
    if (agent !== undefined) return agent;
    const wanted = version === null ? name : `${name}@${version}`;
    if (!this.#missing.has(wanted)) {
      this.#missing.add(wanted);
      this.#logger.warn(
        { event: "task.agent_missing", agent: wanted, task_id: id },
        "Tasks wait for an agent version that is not loaded",
      );
    }
    return null;
  }

  /** What code throws: the task has the message, whoever wrote the code wants to know where. */
  async #reportThrown(run: Run, thrown: unknown, span?: StepSpan): Promise<void> {
    const { task } = run;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    const err = await run.redact((redactor) => redactor.value({ message, stack: stackOf(thrown) }));
    const where = span === undefined ? {} : { step: span.step };
    this.#logger.warn(
      { event: "agent.code_threw", err, agent: task.agent.name, ...where, ...this.#about(task) },
      span === undefined ? "An agent's code threw an error" : `The code of ${span.step} threw an error`,
    );
  }

  #reportCircuit({ tool, tenantId, isOpen }: CircuitChange): void {
    const about = {
      event: isOpen ? "tool.circuit_opened" : "tool.circuit_closed",
      tool,
      tenant_id: tenantId,
    };
    if (isOpen)
      this.#logger.warn(about, `Tool ${tool} failed too often in a row; it is not called for a while`);
    else this.#logger.info(about, `Tool ${tool} works again`);
  }

  /** By what its lines in the log are found, and with them its trace. */
  #about(task: TaskRecord): { task_id: string; trace_id?: string } {
    const trace = traceOfTask(this.#kernel.tracing, task);
    return { task_id: task.id, ...(trace === null ? {} : { trace_id: traceIdOf(task) }) };
  }

  /** What waited for an agent may have it now. */
  #lookAgain(): void {
    this.#missing.clear();
    this.#overflowed = true;
    this.#lateSleepers.lookAgain();
  }

  sweep(): Promise<void> {
    return this.#sweeper.now();
  }

  /** Takes up what has become due since the last look; everything due, the first time and after an overflow. */
  async #sweep(): Promise<void> {
    if (this.#overflowed && this.#queue.size === 0) {
      this.#overflowed = false;
      this.#due.restart();
    }
    this.#lookAtClock();
    if (!this.#overflowed) await this.#takeDue();
    if (this.#queue.size === 0) for (const id of await this.#lateSleepers.next()) await this.#enqueueDue(id);
    this.#dispatch();
  }

  async #takeDue(): Promise<void> {
    for await (const id of this.#due.read(this.#kernel.clock.now())) {
      await this.#enqueueDue(id);
      if (this.#overflowed) return;
    }
  }

  /** Runs in memory wait by timers, which do not notice that the clock was set. */
  #lookAtClock(): void {
    const ms = this.#clockWatch.jump();
    if (ms === 0) return;
    const how = ms > 0 ? "forward" : "back";
    const about = { event: "clock.jumped", by_ms: ms };
    this.#logger.warn(about, `The system clock was set ${how} by ${Math.abs(ms)} ms`);
    for (const run of this.#runs.values()) run.waits.measureAgain();
    if (ms < 0) this.#lateSleepers.lookAgain();
  }

  async #enqueueDue(taskId: string): Promise<void> {
    if (this.#runs.has(taskId)) return;
    const document = await this.#kernel.store.get("task", taskId);
    const task = document?.body as TaskRecord | undefined;
    // What cannot run here must not take the place of what can.
    if (task !== undefined && this.#agentFor(task) !== null) this.#enqueue(taskId, task.session_id);
  }
}

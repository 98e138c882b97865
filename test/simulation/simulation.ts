/**
 * Plays a plan to its end: clients, processes, faults; then everything is healed, and all that was accepted has to come to its end.
 * The same plan gives the same log, byte for byte.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { WholeKernel } from "../../src/kernel/kernel.ts";
import { isFinal } from "../../src/kernel/tasks/lifecycle.ts";
import { abandonSlice } from "../../src/slices.ts";
import { agentsOn, Outside } from "./agents.ts";
import { Client } from "./client.ts";
import { type Ended, endProblems } from "./end-oracle.ts";
import { Follower } from "./follower.ts";
import { LogOracle } from "./log-oracle.ts";
import { Machine, Owner } from "./machine.ts";
import { ConnectionLost, Network } from "./network.ts";
import { liveIn, settled } from "./patched-globals.ts";
import type { FaultPlan, Plan, TaskPlan } from "./plan.ts";
import { Installation, startProcess } from "./process.ts";
import { SimulatedDisk, type WriteFate } from "./simulated-disk.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

/** Faults end here, whatever is under way. */
const healAtMs = 12_000;
/** All that was accepted has ended by then: the longest wait of an agent is a minute, of a question's expiry a week. */
const endAtMs = 200_000;
/** A process that does more than this is not getting anywhere. */
const stepsMax = 400_000;

export interface Outcome {
  problem: Error | null;
  steps: number;
  events: number;
  /** What stands for the whole log. */
  digest: string;
  complaints: readonly string[];
}

export async function simulate(plan: Plan): Promise<Outcome> {
  const caught: unknown[] = [];
  const catchStray = (error: unknown) => void caught.push(error);
  process.on("unhandledRejection", catchStray);
  const machine = new Machine(plan.seed);
  using _ = liveIn(machine);
  const simulation = new Simulation(plan, machine);
  try {
    await simulation.run(caught);
    return simulation.outcome(null);
  } catch (error) {
    return simulation.outcome(error instanceof Error ? error : new Error(String(error)));
  } finally {
    process.off("unhandledRejection", catchStray);
    simulation.close();
  }
}

interface Running {
  owner: Owner;
  kernel: WholeKernel;
}

class Simulation {
  readonly machine: Machine;
  readonly #plan: Plan;
  readonly #log = new LogOracle();
  readonly #disk: SimulatedDisk;
  readonly #network: Network;
  readonly #receiver: WebhookReceiver;
  readonly #installation: Installation;
  readonly #clients: Client[];
  readonly #follower: Follower;
  /** The process that clients reach; null between two. */
  #running: Running | null = null;
  /** Processes that are alive, of which one at most can write. */
  readonly #alive = new Set<Owner>();
  /** The others were taken over. */
  #newest: Owner | null = null;
  #started = 0;
  #writes = 0;
  #diskFault: { until: number; fate: WriteFate } | null = null;
  #isHealed = false;
  #problem: unknown = null;

  constructor(plan: Plan, machine: Machine) {
    this.#plan = plan;
    this.machine = machine;
    this.#disk = new SimulatedDisk({
      machine,
      fate: () => this.#fate(),
      kill: (owner) => this.#kill(owner),
      onWritten: (events) => this.#watch(() => this.#log.take(events)),
    });
    this.#network = new Network(machine);
    this.#receiver = new WebhookReceiver(machine);
    const outside = new Outside(machine, (taskId, key) => this.#log.isRecorded(taskId, key));
    const outbound = this.#network.outbound(machine.outside, (path, body) =>
      this.#receiver.receive(path, body),
    );
    const hasApprovals = plan.seed % 2 === 0;
    this.#installation = new Installation(machine, agentsOn(machine, outside, hasApprovals), outbound);
    const ask = <T>(act: (kernel: WholeKernel) => Promise<T>) => this.#ask(act);
    const tasks = plan.items.filter((item): item is TaskPlan => item.kind === "task");
    this.#clients = tasks.map((task, n) => new Client(task, `client${n}`, { machine, ask, hasApprovals }));
    this.#follower = new Follower(machine, () => this.#running);
  }

  async run(caught: unknown[]): Promise<void> {
    const { machine } = this;
    machine.after(0, () => this.#start());
    for (const client of this.#clients) machine.after(0, () => this.#follow(client.run()));
    machine.after(0, () => this.#follow(this.#follower.run()));
    for (const item of this.#plan.items) if (item.kind !== "task") this.#arrange(item);
    machine.after(healAtMs, () => this.#heal());
    while (!(await this.#isOver())) {
      await this.#step(caught);
      if (machine.now > endAtMs) throw new Error(`stuck: ${this.#whatIsLeft()}`);
    }
    this.#heal();
    machine.owner = this.#running?.owner ?? machine.outside;
    let isChecked = false;
    const checked = endProblems(this.#ended()).finally(() => {
      isChecked = true;
    });
    while (!isChecked) await this.#step(caught);
    const problem = await checked;
    if (problem !== null) throw problem;
  }

  async #step(caught: unknown[]): Promise<void> {
    const { machine } = this;
    assert.ok(machine.step(), "nothing is left to do");
    await settled();
    if (caught.length > 0 && !machine.owner.isDead) throw caught[0];
    caught.length = 0;
    if (this.#problem !== null) throw this.#problem;
    assert.ok(machine.steps < stepsMax, `there is no end to it after ${stepsMax} steps`);
  }

  close(): void {
    for (const owner of [...this.#alive]) this.#kill(owner);
    this.#disk[Symbol.dispose]();
  }

  outcome(problem: Error | null): Outcome {
    const text = JSON.stringify(this.#log.events);
    return {
      problem,
      steps: this.machine.steps,
      events: this.#log.events.length,
      digest: createHash("sha256").update(text).digest("hex").slice(0, 16),
      complaints: this.#installation.complaints,
    };
  }

  #ended(): Ended {
    const { kernel } = this.#running ?? {};
    assert.ok(kernel !== undefined);
    return {
      kernel,
      log: this.#log,
      clients: this.#clients,
      receiver: this.#receiver,
      seen: this.#follower.seen,
    };
  }

  /** What fails in a check is a fault of the server, in whichever process it was noticed. */
  #watch(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#problem ??= error;
    }
  }

  #follow(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#problem ??= error;
    });
  }

  async #ask<T>(act: (kernel: WholeKernel) => Promise<T>): Promise<T> {
    const running = this.#running;
    if (running === null) throw new ConnectionLost("refused");
    return await this.#network.ask(running.owner, () => act(running.kernel));
  }

  /** Starts a process; one that cannot start is started again. */
  #start(): void {
    const { machine } = this;
    const owner = new Owner(`process ${++this.#started}`);
    this.#alive.add(owner);
    this.#newest = owner;
    owner.onDeath(() => this.#bury(owner));
    machine.after(
      0,
      () => {
        const store = this.#disk.open(owner, () => this.#kill(owner));
        startProcess(this.#installation, store).then(
          (kernel) => {
            if (owner === this.#newest) this.#running = { owner, kernel };
          },
          (error: unknown) => {
            this.#installation.complaints.push(`${owner.name} did not start: ${error}`);
            this.#kill(owner);
          },
        );
      },
      owner,
    );
  }

  #kill(owner: Owner): void {
    const { machine } = this;
    const current = machine.owner;
    // Others may be waiting for the end of a slice that the dead one began.
    machine.owner = machine.outside;
    abandonSlice();
    machine.owner = current;
    owner.die();
  }

  #bury(owner: Owner): void {
    this.#alive.delete(owner);
    if (this.#running?.owner === owner) this.#running = null;
    if (this.#newest !== owner) return;
    const { machine } = this;
    const startAgain = () => {
      // Unless somebody else was faster.
      if (this.#newest === owner) this.#start();
    };
    machine.after(20 + machine.below(300), startAgain, machine.outside);
  }

  #fate(): WriteFate {
    this.#writes += 1;
    if (this.#isHealed) return "written";
    const due = this.#plan.items.find(
      (item) => item.kind === "crash_at_write" && item.write === this.#writes,
    );
    if (due?.kind === "crash_at_write") return due.isWritten ? "killed_after" : "killed_before";
    const fault = this.#diskFault;
    return fault !== null && this.machine.now < fault.until ? fault.fate : "written";
  }

  #arrange(fault: FaultPlan): void {
    const { machine } = this;
    const at = (ms: number, act: () => void) => void machine.after(ms, () => this.#isHealed || act());
    const current = () => this.#running?.owner;
    switch (fault.kind) {
      case "crash":
        this.#atStep(fault.step);
        break;
      case "disk":
        at(fault.at, () => {
          this.#diskFault = { until: fault.at + fault.ms, fate: fault.fate };
        });
        break;
      case "partition":
        at(fault.at, () => {
          this.#network.partitionedUntil = fault.at + fault.ms;
        });
        break;
      case "clock":
        at(fault.at, () => {
          machine.wallOffset += Math.max(fault.by, backMsMax);
        });
        break;
      case "freeze":
        at(fault.at, () => {
          const owner = current();
          if (owner !== undefined) owner.frozenUntil = machine.now + fault.ms;
        });
        break;
      case "takeover":
        at(fault.at, () => this.#start());
        break;
    }
  }

  readonly #crashes = new Set<number>();

  #atStep(step: number): void {
    this.#crashes.add(step);
  }

  #heal(): void {
    this.#isHealed = true;
    this.#network.isHealthy = true;
    this.#receiver.isHealthy = true;
    // Whoever was taken over and has nothing to write does not find out by itself.
    for (const owner of [...this.#alive]) if (owner !== this.#newest) this.#kill(owner);
  }

  async #isOver(): Promise<boolean> {
    if (this.#crashes.delete(this.machine.steps) && !this.#isHealed) {
      const owner = this.#running?.owner ?? [...this.#alive][0];
      if (owner !== undefined) this.#kill(owner);
    }
    if (this.#clients.some(({ isDone }) => !isDone)) return false;
    const running = this.#running;
    return running !== null && running.owner === this.#newest && (await this.#isSettled(running.kernel));
  }

  async #isSettled(kernel: WholeKernel): Promise<boolean> {
    for (const { status } of this.#log.tasks.values()) if (!isFinal(status)) return false;
    if (!kernel.receipts.isCaughtUp) return false;
    const configs = this.#log.events.filter(({ resource }) => resource.object === "push_config");
    const states = await Promise.all(
      [...new Set(configs.map(({ resource }) => resource.id))].map((id) =>
        kernel.store.get("push_config", id),
      ),
    );
    return states.every((found) => !isActive(found?.body)) && this.#follower.isAt(this.#log.events.length);
  }

  #whatIsLeft(): string {
    const open = [...this.#log.tasks.values()].filter(({ status }) => !isFinal(status));
    const named = open.map(({ id, status, agent, parked, pending }) =>
      JSON.stringify({ id, status, agent: agent.name, parked, pending }),
    );
    const waiting = this.#clients.filter(({ isDone }) => !isDone).map(({ name }) => name);
    const isCaughtUp = this.#running?.kernel.receipts.isCaughtUp;
    return JSON.stringify({
      named,
      waiting,
      alive: this.#alive.size,
      isCaughtUp,
      seen: this.#follower.seen.length,
    });
  }
}

/** Waits that were begun while the clock was ahead end at their recorded time; so long they can take. */
const backMsMax = -60_000;

function isActive(body: unknown): boolean {
  return typeof body === "object" && body !== null && "state" in body && body.state === "active";
}

/**
 * What a rehearsal is played on: the real kernel and the real runtime over a database in memory. A life is one process; when it is
 * killed, nothing that it does afterwards is written, and the next life begins with what is in the store.
 */

import { isDeepStrictEqual } from "node:util";
import { pino } from "pino";
import { withoutGateway } from "../kernel/approvals/access.ts";
import { asKernelEvent, terminalEvents } from "../kernel/core/events.ts";
import { createKernel, type WholeKernel } from "../kernel/kernel.ts";
import { Issuer } from "../kernel/receipts/signing.ts";
import { ensureSigningKey } from "../kernel/receipts/signing-keys.ts";
import { type StepMark, stepMark } from "../kernel/tasks/steps.ts";
import { defaultTenantId, ensureTenant } from "../kernel/workspaces/ensure-tenant.ts";
import { type Caller, systemCaller } from "../policy/caller.ts";
import { MasterKeys } from "../policy/master-keys.ts";
import { newSigningKey } from "../receipts/keys.ts";
import type { Agent } from "../runtime/agents/agent.ts";
import { AgentRegistry } from "../runtime/agents/registry.ts";
import { type Runtime, startRuntime } from "../runtime/runtime.ts";
import type { World } from "../runtime/world.ts";
import type { StoredEvent } from "../store/port.ts";
import { MemoryDatabase, openMemoryStore } from "../store/sqlite/in-memory.ts";
import type { WholeStore } from "../store/whole-store.ts";
import { MovedClock, steadyRandom } from "./clock.ts";
import { type Death, mortalStore } from "./mortal-store.ts";
import type { RehearsedFiles } from "./rehearsed-files.ts";

export interface Life {
  kernel: WholeKernel;
  runtime: Runtime;
  /** Resolves when it was killed. */
  killed: Promise<void>;
  end(): Promise<void>;
}

export interface StageOptions {
  agents: readonly Agent[];
  world: World;
  files: RehearsedFiles;
  /** When it begins. */
  now: number;
  /** Where the first life ends; nowhere when it is null. */
  killAfter: StepMark | null;
  /** What else ends a life. */
  death?: Death;
}

const concurrency = 100;
const problemsMax = 20;

export class Stage {
  readonly clock: MovedClock;
  readonly system: Caller = systemCaller(defaultTenantId);
  readonly database = new MemoryDatabase();
  readonly world: World;
  readonly files: RehearsedFiles;
  /** The records of the task's steps, by the commits that they were made in, up to its end. */
  readonly commits: StepMark[][] = [];
  /** What the runtime had to complain about. */
  readonly problems: string[] = [];
  /** The task that is rehearsed, once it is submitted. */
  taskId: string | null = null;
  /** Where the life that is being led ends; nowhere when it is null. */
  #killAfter: StepMark | null;
  readonly #death: Death;
  readonly #agents: AgentRegistry;
  readonly #issuer = new Issuer(newSigningKey().key, () => {});
  readonly #masterKeys = new MasterKeys({ file: null });
  readonly #approvals = withoutGateway();

  constructor({ agents, world, files, now, killAfter, death = {} }: StageOptions) {
    this.clock = new MovedClock(now);
    this.world = world;
    this.files = files;
    this.#agents = new AgentRegistry(agents);
    this.#killAfter = killAfter;
    this.#death = death;
  }

  /** Whether the life that was to be killed has been. */
  get isKilled(): boolean {
    return this.#killAfter === null;
  }

  /** A process that dies while it starts is started again. */
  async begin(): Promise<Life> {
    while (true) {
      const memory = openMemoryStore(this.database);
      const { store, killed } = mortalStore(memory, {
        ...this.#death,
        after: (events) => this.#isLast(events) || this.#death.after?.(events) === true,
      });
      const started = await Promise.race([this.#start(store), killed]);
      if (started !== undefined) {
        const { kernel, runtime } = started;
        const end = async () => {
          await runtime.drain(0);
          await kernel.receipts.close(0);
          kernel.tail.close();
          await memory.close();
        };
        return { kernel, runtime, killed, end };
      }
      await memory.close();
    }
  }

  async #start(store: WholeStore): Promise<Pick<Life, "kernel" | "runtime">> {
    const kernel = createKernel({
      store,
      clock: this.clock,
      chance: steadyRandom,
      agents: this.#agents,
      issuer: this.#issuer,
      masterKeys: this.#masterKeys,
      approvals: this.#approvals,
      files: this.files,
    });
    await kernel.dispatch(ensureTenant, this.system, { tenantId: defaultTenantId });
    const { result } = await kernel.dispatch(ensureSigningKey, this.system, { key: this.#issuer.key });
    this.#issuer.adopt(result.issuer_id);
    await kernel.receipts.start();
    const runtime = await startRuntime({
      kernel,
      world: this.world,
      agents: this.#agents,
      logger: this.#logger(),
      concurrency,
      // A crash between any two records can then be played.
      outboxMax: 1,
    });
    return { kernel, runtime };
  }

  /** Looks at what was just committed; true when the process is to die of it. */
  #isLast(stored: readonly StoredEvent[]): boolean {
    const events = stored
      .map(asKernelEvent)
      .filter(({ taskId }) => taskId !== null && taskId === this.taskId);
    const marks = events.flatMap((event) => stepMark(event) ?? []);
    const isOver = events.some(
      ({ event, resource }) => resource.id === this.taskId && terminalEvents.has(event),
    );
    if (marks.length > 0 && !isOver) this.commits.push(marks);
    const last = this.#killAfter;
    if (last === null || !marks.some((mark) => isDeepStrictEqual(mark, last))) return false;
    this.#killAfter = null;
    return true;
  }

  #logger() {
    const write = (line: string) => {
      if (this.problems.length < problemsMax) this.problems.push(line.trim());
    };
    return pino({ level: "error" }, { write });
  }
}

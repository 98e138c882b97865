/**
 * Work that can be traced, in memory: agents run on a kernel whose time is moved by hand, and a follower tells a collector that
 * does what the test says. Followers can come one after the other, as processes do.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Logger, pino } from "pino";
import type { WholeKernel } from "../../src/kernel/kernel.ts";
import type { Agent } from "../../src/runtime/agents/agent.ts";
import type { TraceExporter } from "../../src/telemetry/traces/exporter.ts";
import { type ExportProblem, Otel, type ReadableSpan } from "../../src/telemetry/traces/otel.ts";
import { readTraceSettings, type TraceSettings } from "../../src/telemetry/traces/settings.ts";
import type { People } from "../../src/testing/people.ts";
import { Play } from "../../src/testing/play.ts";
import { RehearsedFiles } from "../../src/testing/rehearsed-files.ts";
import { scripted } from "../../src/testing/scripted.ts";
import { setUp, submit } from "../../src/testing/set-up.ts";
import { type Life, Stage } from "../../src/testing/stage.ts";
import { mcpOf } from "../../src/testing/stand-ins.ts";

const patienceMs = 30_000;

export class TracedStage implements AsyncDisposable {
  readonly stage: Stage;
  readonly #life: Life;
  readonly #directory = mkdtempSync(join(tmpdir(), "bridle-traced-"));
  readonly #followers: TraceExporter[] = [];
  /** What was taken, in order, an export at a time. */
  readonly taken: ReadableSpan[][] = [];
  /** How often it was tried. */
  attempts = 0;
  /** What becomes of an export; null takes it. */
  answer: (spans: ReadableSpan[]) => ExportProblem | null = () => null;
  /** What was logged. */
  readonly lines: { level: number; msg: string; [about: string]: unknown }[] = [];
  readonly logger: Logger = pino({ level: "info" }, { write: (line) => this.lines.push(JSON.parse(line)) });

  private constructor(stage: Stage, life: Life) {
    this.stage = stage;
    this.#life = life;
  }

  static async begin(agents: readonly Agent[], models: string[] = []): Promise<TracedStage> {
    const world = { models: scripted(models), mcp: mcpOf({}, new Set()), tools: [], standIns: [] };
    const now = Date.parse("2026-01-01T00:00:00.000Z");
    const stage = new Stage({ agents, world, files: new RehearsedFiles({}), now, killAfter: null });
    return new TracedStage(stage, await stage.begin());
  }

  get kernel(): WholeKernel {
    return this.#life.kernel;
  }

  get cursorFile(): string {
    return join(this.#directory, "traces.json");
  }

  get spans(): ReadableSpan[] {
    return this.taken.flat();
  }

  /** Runs an agent to its end. */
  async run(agent: string, people: People = {}): Promise<string> {
    const { kernel } = this;
    const sessionId = await setUp(kernel, this.stage.system, agent, { input: "go" });
    const taskId = kernel.newId("task");
    await submit(kernel, this.stage.system, { sessionId, taskId, input: "go" });
    const cast = { people, hosts: {}, timeoutMs: patienceMs, onCrash: () => {} };
    await new Play(this.stage, this.#life, cast).toTheEnd(taskId);
    return taskId;
  }

  async follow(given: Partial<TraceSettings> = {}, logger = this.logger): Promise<TraceExporter> {
    const { TraceExporter } = await import("../../src/telemetry/traces/exporter.ts");
    const settings = { ...settingsOf({ OTEL_TRACES_EXPORTER: "console" }), delayMs: 0, ...given };
    const real = new Otel(settings, "1.0.0");
    const otel = {
      isSampled: real.isSampled.bind(real),
      toReadable: real.toReadable.bind(real),
      export: async (spans: ReadableSpan[]) => {
        this.attempts += 1;
        const problem = this.answer(spans);
        if (problem === null) this.taken.push(spans);
        return problem;
      },
    };
    const { kernel, cursorFile } = this;
    const follower = await TraceExporter.start({ kernel, otel, settings, cursorFile, logger });
    this.#followers.push(follower);
    return follower;
  }

  /** Lets so much time pass. */
  pass(ms: number): void {
    this.stage.clock.moveTo(this.stage.clock.now() + ms);
  }

  /** Until it is so; time goes on in such steps. */
  async until(isSo: () => boolean, stepMs = 1): Promise<void> {
    for (const end = performance.now() + patienceMs; !isSo(); ) {
      if (performance.now() > end) throw new Error(`It never came to ${isSo}.`);
      this.pass(stepMs);
      await sleep(1);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const follower of this.#followers) await follower.stop(patienceMs);
    await this.#life.end();
    rmSync(this.#directory, { recursive: true });
  }
}

export function settingsOf(env: Record<string, string>): TraceSettings {
  const { settings } = readTraceSettings(env);
  if (settings === null) throw new Error("no traces are asked for");
  return settings;
}

/** By the task, the names of its spans. */
export function namesOf(spans: readonly ReadableSpan[], taskId: string): string[] {
  return spans.filter(({ attributes }) => attributes["bridle.task.id"] === taskId).map(({ name }) => name);
}

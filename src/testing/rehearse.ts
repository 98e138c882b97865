/** `rehearse`: an agent from its input to its end, in memory, in milliseconds. */

import { HarnessError } from "../kernel/core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../kernel/core/events.ts";
import type { StepMark } from "../kernel/tasks/steps.ts";
import type { Agent } from "../runtime/agents/agent.ts";
import { openMemoryStore } from "../store/sqlite/in-memory.ts";
import { builtInTools } from "../tools/builtin/index.ts";
import { RehearsalError } from "./failure.ts";
import { readJournal, showJournal } from "./journal.ts";
import { outcomeOf } from "./outcome.ts";
import type { Hosts, People } from "./people.ts";
import { Play } from "./play.ts";
import { endingOf, type Rehearsal } from "./rehearsal.ts";
import { RehearsedFiles } from "./rehearsed-files.ts";
import { type ModelScript, type ScriptedModels, scripted } from "./scripted.ts";
import { type Before, setUp, submit } from "./set-up.ts";
import { type Life, Stage } from "./stage.ts";
import { mcpOf, type StandIns, toolsOf } from "./stand-ins.ts";

export interface RehearsalOptions extends Before {
  /** What the models answer. */
  models?: ModelScript | ScriptedModels;
  /** Who answers questions and decides. Without an answer the rehearsal ends, and says what it waits for. */
  people?: People;
  /** What stands in for tools, by name; for those of MCP servers by `server.tool`. */
  tools?: StandIns;
  /** What hosts do, by capability. */
  hosts?: Hosts;
  /** The files of the workspace, by path. */
  files?: Record<string, string>;
  /** Other agents that work is handed to; each has its persona, `persona_<name>`. */
  agents?: readonly Agent[];
  /** When it begins; the first of January 2026 unless said. Time stands still while there is something to do, and jumps over waits. */
  now?: Date | string;
  /** The process dies once this step is recorded, and the run goes on from its journal. */
  crashAfter?: string;
  /** The same after every record of the run, each in a rehearsal of its own. They must all end alike. */
  crashEverywhere?: boolean;
  /** How long it may take by the clock on the wall; ten seconds unless said. */
  timeoutMs?: number;
}

const nowDefault = "2026-01-01T00:00:00.000Z";
const timeoutMsDefault = 10_000;

export async function rehearse(agent: Agent, options: RehearsalOptions): Promise<Rehearsal> {
  const { crashAfter, crashEverywhere = false } = options;
  if (crashAfter !== undefined && crashEverywhere)
    throw new TypeError("crashEverywhere is after every step already: leave crashAfter out.");
  const models = modelsOf(options.models ?? []);
  models.restart();
  const killAfter = crashAfter === undefined ? null : ended(crashAfter);
  const { run, commits } = await playOnce(agent, options, models, killAfter);
  if (!crashEverywhere) return run;
  for (const point of pointsIn(commits)) {
    models.rewind();
    const again = await playOnce(agent, options, models, point);
    assertAlike(run, again.run, point);
  }
  return run;
}

function ended(key: string): StepMark {
  return { key, phase: "ended" };
}

/** That such a call has begun is recorded when it cannot be undone: if the process dies then, the run is to end otherwise. */
const irreversible = /^(?:tool|mcp):/;

/** One record of each commit. What is recorded several times, piece by piece, counts once. */
function pointsIn(commits: readonly StepMark[][]): StepMark[] {
  const seen = new Set<string>();
  return commits.flatMap((marks) => {
    const fresh = marks.filter(
      (mark) => !seen.has(nameOf(mark)) && !(mark.phase === "begun" && irreversible.test(mark.key)),
    );
    for (const mark of marks) seen.add(nameOf(mark));
    return fresh.slice(-1);
  });
}

function nameOf({ key, phase, attempt = 0 }: StepMark): string {
  return `${phase} ${key} ${attempt}`;
}

interface Played {
  run: Rehearsal;
  commits: readonly StepMark[][];
}

async function playOnce(
  agent: Agent,
  options: RehearsalOptions,
  models: ScriptedModels,
  killAfter: StepMark | null,
): Promise<Played> {
  const { tools = {}, agents = [], people = {}, hosts = {}, timeoutMs = timeoutMsDefault } = options;
  const own = [agent, ...agents].flatMap((each) => each.tools ?? []);
  const local = new Set([...builtInTools, ...own].map(({ name }) => name));
  const world = { models, mcp: mcpOf(tools, local), tools: builtInTools, standIns: toolsOf(tools) };
  const stage = new Stage({
    agents: [agent, ...agents],
    world,
    files: new RehearsedFiles(options.files ?? {}),
    now: timeOf(options.now ?? nowDefault),
    killAfter,
  });
  let life: Life = await stage.begin();
  try {
    const sessionId = await prepared(() => setUp(life.kernel, stage.system, agent.name, options));
    const taskId = life.kernel.newId("task");
    stage.taskId = taskId;
    const submitted = submit(life.kernel, stage.system, { sessionId, taskId, input: options.input });
    await prepared(() => Promise.race([submitted, life.killed]));
    const onCrash = () => models.resume(recordedAnswers(stage));
    const play = new Play(stage, life, { people, hosts, timeoutMs, onCrash });
    const waitingFor = await play.toTheEnd(taskId).finally(() => {
      life = play.life;
    });
    const run = await outcomeOf(stage, taskId, waitingFor, models.calls);
    assertPlayed(run, stage, killAfter, models);
    return { run, commits: stage.commits };
  } catch (error) {
    throw await withJournal(error, stage);
  } finally {
    await life.end();
  }
}

function recordedAnswers({ database }: Stage): number {
  return database.events().filter((event) => isModelAnswer(asKernelEvent(event))).length;
}

function isModelAnswer(event: KernelEvent): boolean {
  const isEnd = event.event === "span.completed" || event.event === "span.failed";
  return isEnd && event.payload.kind === "llm";
}

function modelsOf(given: ModelScript | ScriptedModels): ScriptedModels {
  return typeof given === "object" && "open" in given ? given : scripted(given);
}

function timeOf(now: Date | string): number {
  const time = new Date(now).getTime();
  if (Number.isNaN(time)) throw new TypeError(`now is ${JSON.stringify(now)}, which is no time.`);
  return time;
}

/** What the harness refuses before the run begins is a mistake of the one who rehearses. */
async function prepared<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    throw new RehearsalError(`The rehearsal cannot begin: ${error.message}`, { cause: error });
  }
}

function assertPlayed(
  run: Rehearsal,
  stage: Stage,
  killAfter: StepMark | null,
  models: ScriptedModels,
): void {
  if (models.unanswered !== null) {
    const { prompt } = models.unanswered;
    const step = run.journal.findLast(({ kind, error }) => kind === "llm" && error !== undefined);
    throw new RehearsalError(
      `The script of the models has no answer for ${step?.key ?? "a call"}: ${JSON.stringify(prompt)}.\n${run}`,
    );
  }
  if (killAfter !== null && !stage.isKilled)
    throw new RehearsalError(
      `The step ${killAfter.key}, after which it was to crash, was never recorded.\n${run}`,
    );
}

/** What went wrong in the middle is told with what had been done by then. */
async function withJournal(error: unknown, { database, system, taskId }: Stage): Promise<unknown> {
  if (!(error instanceof RehearsalError) || taskId === null || error.message.includes("\n")) return error;
  const journal = showJournal(await readJournal(openMemoryStore(database).of(system.tenantId), taskId));
  return new RehearsalError(`${error.message}\n${journal}`, { cause: error });
}

/** Ids are new in every rehearsal. */
const idPattern = /\b([a-z]+)_[0-9A-HJKMNP-TV-Z]{26}\b/g;

function endingsOf(run: Rehearsal): string {
  const { said, artifacts, files, journal } = run;
  const made = artifacts.map(({ name, text }) => `${name}: ${text}`);
  const texts = [...made, ...Object.entries(files).map(([path, text]) => `${path}: ${text}`)];
  // Branches that run side by side may come to their steps in another order.
  const steps = journal.map(({ key }) => key).sort();
  return [endingOf(run), ...said, ...texts, ...steps].join("\n").replaceAll(idPattern, "$1_…");
}

function assertAlike(run: Rehearsal, again: Rehearsal, { key, phase }: StepMark): void {
  if (endingsOf(run) === endingsOf(again)) return;
  const when = phase === "begun" ? `once ${key} had begun` : `after ${key}`;
  throw new RehearsalError(
    `The run does not come to the same end when the process dies ${when}. Without it:\n${run}\nWith it:\n${again}`,
  );
}

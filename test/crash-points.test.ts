/**
 * The process ends at the N-th commit, for every N, with that commit lost or written: the real kernel and runtime over a store in
 * memory, so that every point of a run is tried in seconds. `test/crash.e2e.test.ts` kills real processes.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import type { Command } from "../src/kernel/core/dispatch.ts";
import { asKernelEvent } from "../src/kernel/core/events.ts";
import { updatePersona } from "../src/kernel/personas/update-persona.ts";
import { createSession } from "../src/kernel/sessions/create-session.ts";
import { stepMark } from "../src/kernel/tasks/steps.ts";
import { submitTask } from "../src/kernel/tasks/submit-task.ts";
import { defaultTenantId, nameIn, personaIdOf } from "../src/kernel/workspaces/ensure-tenant.ts";
import { type AgentContext, defineAgent } from "../src/runtime/agents/agent.ts";
import { emptyWorld } from "../src/runtime/world.ts";
import { openMemoryStore } from "../src/store/sqlite/in-memory.ts";
import { outcomeOf } from "../src/testing/outcome.ts";
import { Play } from "../src/testing/play.ts";
import { RehearsedFiles } from "../src/testing/rehearsed-files.ts";
import { type Life, Stage } from "../src/testing/stage.ts";
import { defineTool } from "../src/tools/define.ts";
import { isThorough, randomFrom } from "./runner/seed.ts";
import { assertRefolds } from "./support/log.ts";

/** Where processes end: at these commits, counted over all processes; a lost commit is one that never reaches the disk. */
interface Kill {
  commit: number;
  isLost: boolean;
}

/** What really happened, as the outside world would know it. */
class World {
  readonly done: string[] = [];
  isRecorded: (key: string) => boolean = () => false;

  act(key: string): string {
    assert.ok(!this.isRecorded(key), `${key} runs again after it was recorded`);
    this.done.push(key);
    return key;
  }

  times(key: string): number {
    return this.done.filter((done) => done === key).length;
  }
}

function agentsIn(world: World) {
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: Type.Object({}),
    effect: "irreversible",
    run: () => world.act("tool:pay:1"),
  });
  const child = defineAgent({
    name: "child",
    version: "1",
    run: async (ctx) => await ctx.step("small", () => 7),
  });
  const steps = (ctx: AgentContext, ...names: string[]) =>
    Promise.all(names.map((name) => ctx.step(name, () => world.act(`step:${name}:1`))));
  const agent = defineAgent({
    name: "worker",
    version: "1",
    tools: [pay],
    async run(ctx) {
      await steps(ctx, "a", "b", "c");
      await ctx.say("begun");
      const name = await ctx.ask("Name?");
      await ctx.memory.write("name", name);
      await ctx.sleep(3_600_000);
      const { output } = await ctx.effect("mail", () => world.act("effect:mail:1"));
      const started = await ctx.spawn({ personaId: personaIdOf("child", defaultTenantId), input: {} });
      const { status } = await started.result();
      await ctx.artifact({ name: "note", text: `for ${name}` });
      const paid = String(await ctx.tool(pay, {}));
      return { name, output, status, paid };
    },
  });
  return [agent, child];
}

interface Played {
  world: World;
  outcome: Awaited<ReturnType<typeof outcomeOf>>;
  commits: number;
}

async function play(kills: readonly Kill[]): Promise<Played> {
  const world = new World();
  let commits = 0;
  let isArmed = false;
  const stage = new Stage({
    agents: agentsIn(world),
    world: emptyWorld,
    files: new RehearsedFiles({}),
    now: Date.parse("2026-01-01T00:00:00.000Z"),
    killAfter: null,
    death: {
      before() {
        commits += 1;
        const kill = kills.find(({ commit }) => commit === commits);
        if (kill?.isLost === false) isArmed = true;
        return kill?.isLost ?? false;
      },
      after() {
        const isDue = isArmed;
        isArmed = false;
        return isDue;
      },
    },
  });
  world.isRecorded = (key) =>
    stage.database.events().some((event) => {
      const mark = stepMark(asKernelEvent(event));
      return mark?.key === key && mark.phase === "ended";
    });
  let life = await stage.begin();

  /** A client that does not get an answer asks again, with the same key. */
  async function ask<Request, Result>(command: Command<Request, Result>, request: Request): Promise<Result> {
    while (true) {
      const idempotency = { key: command.name, target: command.name, body: request };
      const answer = await Promise.race([
        life.kernel.dispatch(command, stage.system, request, idempotency),
        life.killed,
      ]);
      if (answer !== undefined) return answer.result;
      life = await next(stage, life);
    }
  }

  try {
    await ask(updatePersona, {
      personaId: personaIdOf("worker", defaultTenantId),
      changes: { autonomy_tier: "act_with_approval" },
    });
    const workspaceId = nameIn(defaultTenantId, "workspace_default");
    const personaId = personaIdOf("worker", defaultTenantId);
    const session = await ask(createSession, { workspaceId, personaId, initialMessages: [] });
    const task = await ask(submitTask, { sessionId: session.id, input: { payload: {} } });
    const people = { answers: () => "ann", approvals: () => true };
    const cast = { people, hosts: {}, timeoutMs: 20_000, onCrash() {} };
    const played = new Play(stage, life, cast);
    const waiting = await played.toTheEnd(task.id).finally(() => {
      life = played.life;
    });
    const outcome = await outcomeOf(stage, task.id, waiting, []);
    const store = openMemoryStore(stage.database);
    await assertRefolds(store);
    assert.equal(await store.of(defaultTenantId).count("session"), 1);
    return { world, outcome, commits };
  } finally {
    await life.end();
  }
}

async function next(stage: Stage, dead: Life): Promise<Life> {
  await dead.end();
  return await stage.begin();
}

/** What an effect that must not happen twice came to, when the process ended in the middle of it. */
const unknown = new Set(["outcome_unknown", "approval_used"]);

/** Whatever was lost, the run came to the same end, or says what it cannot know; and nothing happened twice. */
function assertSurvived({ world, outcome }: Played, whole: Played, kills: readonly Kill[]): void {
  for (const key of ["effect:mail:1", "tool:pay:1"])
    assert.ok(world.times(key) <= 1, `${key} happened twice`);
  for (const key of ["step:a:1", "step:b:1", "step:c:1"]) {
    assert.ok(world.times(key) <= 1 + kills.length, `${key} ran ${world.times(key)} times`);
  }
  if (outcome.status === "FAILED") {
    assert.ok(unknown.has(outcome.failure?.code ?? ""), `${outcome}`);
    return;
  }
  assert.equal(outcome.status, "COMPLETED", `${outcome}`);
  assert.deepEqual(outcome.output, whole.outcome.output);
  assert.deepEqual(keysOf(outcome), keysOf(whole.outcome));
}

/** Steps that run at the same time are recorded in any order. */
function keysOf({ journal }: Played["outcome"]): string[] {
  return journal.map(({ key }) => key).sort();
}

async function assertSurvives(kills: readonly Kill[], whole: Played): Promise<string> {
  try {
    const played = await play(kills);
    assertSurvived(played, whole, kills);
    return played.outcome.status;
  } catch (error) {
    throw new Error(`killed at ${JSON.stringify(kills)}`, { cause: error });
  }
}

const isEither = [true, false];

test("CRA-6 a process that ends at any commit, lost or written, loses and doubles nothing", async (t) => {
  const whole = await play([]);
  assert.equal(whole.outcome.status, "COMPLETED", `${whole.outcome}`);
  const ends: string[] = [];
  for (let commit = 1; commit <= whole.commits; commit++) {
    for (const isLost of isEither) ends.push(await assertSurvives([{ commit, isLost }], whole));
  }
  const failed = ends.filter((status) => status === "FAILED").length;
  // Some of them end between the beginning and the end of what must not be done twice, most do not.
  assert.ok(failed > 0 && failed < ends.length / 4, `${failed} of ${ends.length}`);
  t.diagnostic(`${ends.length} ends`);
});

test("CRA-6 processes that end again and again, soon after their start, still come to the end", async () => {
  const whole = await play([]);
  const random = randomFrom();
  for (let n = 0; n < (isThorough ? 2000 : 40); n++) {
    let commit = 0;
    const kills = Array.from({ length: 4 }, (): Kill => {
      commit += 1 + Math.floor(random() * 12);
      return { commit, isLost: random() < 0.5 };
    });
    await assertSurvives(kills, whole);
  }
});

/** The agents of a simulation, and the world outside that they act on, which knows how often everything really happened. */

import assert from "node:assert/strict";
import { Type } from "typebox";
import { defaultTenantId, personaIdOf } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { type Agent, type AgentContext, defineAgent } from "../../src/runtime/agents/agent.ts";
import { defineTool } from "../../src/tools/define.ts";
import type { Machine } from "./machine.ts";
import type { Act } from "./plan.ts";

/** What happened outside, as opposed to what is recorded of it. */
export class Outside {
  readonly #machine: Machine;
  readonly #isRecorded: (taskId: string, key: string) => boolean;
  readonly #times = new Map<string, number>();

  constructor(machine: Machine, isRecorded: (taskId: string, key: string) => boolean) {
    this.#machine = machine;
    this.#isRecorded = isRecorded;
  }

  /** It takes a while, happens somewhere in it, and may never be answered. `key` is the step's idempotency key. */
  async act(key: string, { atMostOnce = false } = {}): Promise<string> {
    const [taskId = "", ...step] = key.split(":");
    assert.ok(!this.#isRecorded(taskId, step.join(":")), `${key} begins again after it was recorded`);
    await this.#machine.pause(this.#machine.latency(5, 300));
    const times = (this.#times.get(key) ?? 0) + 1;
    this.#times.set(key, times);
    assert.ok(!atMostOnce || times === 1, `${key} happens ${times} times`);
    await this.#machine.pause(this.#machine.latency(5, 300));
    return step.join(":");
  }
}

export const worker = "worker";
const child = "child";

/** With approvals, what an effect does is approved first, and done once at most. */
export function agentsOn(machine: Machine, outside: Outside, hasApprovals: boolean): Agent[] {
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: Type.Object({}),
    effect: "irreversible",
    run: (_, { idempotencyKey }) => outside.act(idempotencyKey, { atMostOnce: true }),
  });
  const step = (ctx: AgentContext, name: string) =>
    ctx.step(name, ({ idempotencyKey }) => outside.act(idempotencyKey));
  const acts: Record<Act, (ctx: AgentContext, n: number) => Promise<unknown>> = {
    step: (ctx, n) => step(ctx, `s${n}`),
    parallel: (ctx, n) => Promise.all(["a", "b", "c"].map((name) => step(ctx, `${name}${n}`))),
    say: (ctx, n) => ctx.say(`line ${n}`),
    ask: (ctx, n) => ctx.ask(`Question ${n}?`),
    effect: (ctx, n) =>
      ctx.effect(`mail${n}`, ({ idempotencyKey }) =>
        outside.act(idempotencyKey, { atMostOnce: hasApprovals }),
      ),
    tool: (ctx) => ctx.tool(pay, {}),
    sleep: (ctx, n) => ctx.sleep(n % 2 === 0 ? 50 : 4000),
    async spawn(ctx) {
      const started = await ctx.spawn({ personaId: personaIdOf(child, defaultTenantId), input: {} });
      return (await started.result()).status;
    },
    memory: (ctx, n) => ctx.memory.write(`key${n}`, `value ${n}`),
    artifact: (ctx, n) => ctx.artifact({ name: `note${n}`, text: `note ${n}` }),
    signal: (ctx) => ctx.waitFor("go", { timeoutMs: 60_000 }),
    flaky: (ctx, n) =>
      ctx.step(`f${n}`, async ({ idempotencyKey, attempt }) => {
        if (attempt < 3 && machine.random() < 0.5) throw new Error("It failed this time.");
        return await outside.act(idempotencyKey);
      }),
    async fail() {
      throw new Error("It is meant to fail.");
    },
  };
  return [
    defineAgent({
      name: worker,
      version: "1",
      tools: [pay],
      input: Type.Object({ acts: Type.Array(Type.String()) }),
      async run(ctx) {
        const wanted = ctx.input.acts as Act[];
        for (const [n, act] of wanted.entries()) await acts[act](ctx, n);
        return wanted.length;
      },
    }),
    defineAgent({ name: child, version: "1", run: (ctx) => step(ctx, "small") }),
  ];
}

/** Steps, effects and tools that fail and are tried again. */

import assert from "node:assert/strict";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Type } from "typebox";
import { type Rehearsal, type RehearsalOptions, rehearse } from "../../testing/index.ts";
import { defineTool } from "../../tools/define.ts";
import { type AgentContext, defineAgent } from "../agents/agent.ts";
import { AgentFailure, NonRetryableError } from "./failures.ts";
import { replayFixture } from "./history.ts";

type Code = (ctx: AgentContext) => Promise<unknown>;

const agentOf = (code: Code) =>
  defineAgent({ name: "worker", version: "1.0.0", run: async (ctx) => JSON.stringify(await code(ctx)) });

const play = (code: Code, options: Partial<RehearsalOptions> = {}) =>
  rehearse(agentOf(code), { input: "go", ...options });

/** Fails the first times, then gives the number of calls. */
function flaky(failures: number, error: () => unknown = () => new Error("503 from upstream")) {
  const seen = { calls: 0, attempts: [] as number[], keys: new Set<string>() };
  const run = ({ attempt, idempotencyKey }: { attempt: number; idempotencyKey: string }) => {
    seen.calls += 1;
    seen.attempts.push(attempt);
    seen.keys.add(idempotencyKey);
    if (seen.calls <= failures) throw error();
    return seen.calls;
  };
  return { seen, run };
}

interface LoggedEvent {
  event: string;
  created_at: string;
  payload: Record<string, unknown>;
}

async function logOf(run: Rehearsal): Promise<{ file: string; events: LoggedEvent[] }> {
  const file = join(await mkdtemp(join(tmpdir(), "bridle-retries-")), "run.jsonl");
  await run.save(file);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  return { file, events: lines.flatMap((line) => JSON.parse(line).event ?? []) };
}

const attemptsIn = ({ events }: { events: LoggedEvent[] }) =>
  events.filter(({ event }) => event === "vendor.bridle.step.attempt_failed").map(({ payload }) => payload);

test("RTY-1, RTY-2 a failing step is repeated with growing delays, and each failed attempt is an event", async () => {
  const { seen, run: code } = flaky(3);
  const retries = { retries: 3, backoff: { initialMs: 1000, factor: 3, jitter: false } };
  const run = await play((ctx) => ctx.step("fetch", code, retries));
  assert.equal(run.output, "4");
  assert.deepEqual([seen.attempts, seen.keys.size], [[1, 2, 3, 4], 1]);
  const log = await logOf(run);
  assert.deepEqual(
    attemptsIn(log).map(({ attempt, delay_ms, error }) => [attempt, delay_ms, error]),
    [1, 2, 3].map((n) => [n, 1000 * 3 ** (n - 1), { code: "step_failed", message: "503 from upstream" }]),
  );
  assert.equal(log.events.find(({ event }) => event === "span.completed")?.payload.attempts, 4);
});

test("RTY-1 by default a step is tried three times, then the task fails with the last error", async () => {
  const { seen, run: code } = flaky(9);
  const run = await play((ctx) => ctx.step("fetch", code));
  assert.deepEqual([run.failure?.code, seen.calls], ["step_failed", 3]);
  const once = flaky(9);
  await play((ctx) => ctx.step("fetch", once.run, { retries: 0 }));
  assert.equal(once.seen.calls, 1);
});

test("RTY-3 a crash between any two attempts neither resets the count nor shortens the delay", async () => {
  const counts = new Map<string, number[]>();
  const code: Code = (ctx) =>
    ctx.step(
      "fetch",
      ({ attempt }) => {
        counts.set(ctx.taskId, [...(counts.get(ctx.taskId) ?? []), attempt]);
        throw new Error("down");
      },
      { retries: 4, backoff: { initialMs: 60_000, jitter: false } },
    );
  const run = await play(code, { crashEverywhere: true });
  assert.equal(run.failure?.message, "down");
  assert.equal(run.endedAt.toISOString(), "2026-01-01T00:04:00.000Z");
  assert.ok(counts.size > 4, "there were crashes");
  for (const attempts of counts.values()) assert.deepEqual(attempts, [1, 2, 3, 4, 5]);
});

test("RTY-4 a long delay parks the run, and the task says which attempt it waits for", async () => {
  const { run: code } = flaky(1);
  const run = await play((ctx) =>
    ctx.step("fetch", code, { backoff: { initialMs: 3_600_000, maxMs: 3_600_000 } }),
  );
  const { events } = await logOf(run);
  const parked = events.find(
    ({ event, payload }) => event === "span.updated" && payload.parked !== undefined,
  );
  assert.match(JSON.stringify(parked?.payload), /retries fetch \(attempt 2 of 3\): 503 from upstream/);
});

test("RTY-5 what cannot pass is not repeated", async () => {
  const errors = [
    () => new NonRetryableError("no such order"),
    () => new AgentFailure("sold_out", "none left"),
    () => Object.assign(new Error("not found"), { status: 404 }),
    () => Object.assign(new Error("bad request"), { response: { status: 400 } }),
  ];
  for (const error of errors) {
    const { seen, run: code } = flaky(9, error);
    const run = await play((ctx) => ctx.step("fetch", code));
    assert.deepEqual([run.status, seen.calls], ["FAILED", 1]);
  }
  const refused = flaky(9);
  await play((ctx) => ctx.step("fetch", refused.run, { retries: 9, retryIf: (_, attempt) => attempt < 2 }));
  assert.equal(refused.seen.calls, 2);
});

test("RTY-6 the Retry-After of an error is respected, wherever an HTTP client keeps it", async () => {
  const limited = (members: object) => () => Object.assign(new Error("slow down"), members);
  const errors = [
    limited({ retryAfterMs: 120_000 }),
    limited({ status: 429, headers: new Headers({ "retry-after": "120" }) }),
    limited({ response: { status: 503, headers: { "retry-after": 120 } } }),
  ];
  for (const error of errors) {
    const { run: code } = flaky(1, error);
    const run = await play((ctx) => ctx.step("fetch", code));
    assert.equal(run.endedAt.toISOString(), "2026-01-01T00:02:00.000Z");
  }
});

test("RTY-7 an attempt that takes too long is aborted, and the next one may be in time", async () => {
  const aborted: number[] = [];
  const run = await play((ctx) =>
    ctx.step(
      "fetch",
      async ({ attempt, signal }) => {
        if (attempt > 1) return attempt;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        aborted.push(attempt);
        return "late";
      },
      { timeoutMs: 20 },
    ),
  );
  assert.deepEqual([run.output, aborted], ["2", [1]]);
  assert.deepEqual(
    attemptsIn(await logOf(run)).map(({ error }) => (error as { code: string }).code),
    ["step_timeout"],
  );
});

function toolOf(effect: "none" | "reversible", failures: number, retries?: number) {
  const { seen, run } = flaky(failures);
  const tool = defineTool({
    name: "stock.read",
    description: "Reads the stock.",
    output: Type.Number(),
    effect,
    circuitBreaker: false,
    ...(retries === undefined ? {} : { retries }),
    run: (_, context) => run(context),
  });
  return { seen, tool };
}

test("RTY-8 a tool that only reads is repeated by default, another one only if it says so", async () => {
  for (const [effect, retries, calls] of [
    ["none", undefined, 3],
    ["reversible", undefined, 1],
    ["reversible", 1, 2],
  ] as const) {
    const { seen, tool } = toolOf(effect, 9, retries);
    const run = await play((ctx) => ctx.tool(tool, {}), { persona: { autonomy_tier: "act_auto" } });
    assert.deepEqual([run.failure?.code, seen.calls], ["tool_failed", calls], effect);
  }
});

test("RTY-9 an approved effect with retries uses its approval once; after a crash it is not tried again", async () => {
  const options = { persona: { autonomy_tier: "act_with_approval" }, people: { approvals: [true] } } as const;
  const { seen, run: code } = flaky(1);
  const pay: Code = async (ctx) => (await ctx.effect("pay", code, { retries: 2 })).output;
  assert.equal((await play(pay, options)).output, "2");
  assert.deepEqual(seen.attempts, [1, 2]);
});

test("RTY-10 a replay tells failed attempts again and runs no code", async () => {
  const { seen, run: code } = flaky(2);
  const story: Code = async (ctx) => {
    const [a, b] = await Promise.all([ctx.step("fetch", code), ctx.step("other", () => "b")]);
    await ctx.say(`${a} ${b}`);
    return await ctx.step("last", () => a);
  };
  const run = await play(story, { crashEverywhere: false });
  const { file } = await logOf(run);
  seen.calls = 0;
  await replayFixture(agentOf(story), file);
  assert.equal(seen.calls, 0);
});

test("RTY-11 a tool that keeps failing is not called for a while; one call is let through after that", async () => {
  let isDown = true;
  let calls = 0;
  const tool = defineTool({
    name: "stock.read",
    description: "Reads the stock.",
    effect: "none",
    retries: 0,
    circuitBreaker: { failures: 3, openMs: 10_000 },
    run() {
      calls += 1;
      if (isDown) throw new Error("down");
      return "here";
    },
  });
  const run = await play(async (ctx) => {
    const codes: unknown[] = [];
    const call = async (times: number) => {
      for (let n = 0; n < times; n++) codes.push(await ctx.tool(tool, {}).catch(codeOf));
    };
    await call(5);
    await ctx.sleep(10_000);
    await call(2);
    await ctx.step("repair", () => {
      isDown = false;
    });
    await ctx.sleep(10_000);
    await call(2);
    return codes;
  });
  const open = "tool_circuit_open";
  const failed = "tool_failed";
  const codes = [failed, failed, failed, open, open, failed, open, "here", "here"];
  assert.equal(run.output, JSON.stringify(codes));
  assert.equal(calls, 6);
});

test("RTY-12 wrong options are refused", async () => {
  const wrong = [{ retries: -1 }, { retries: 1.5 }, { backoff: { factor: 0.5 } }, { timeoutMs: 0 }];
  for (const options of wrong) {
    const { seen, run: code } = flaky(0);
    const run = await play((ctx) => ctx.step("fetch", code, options));
    assert.deepEqual([run.failure?.code, seen.calls], ["agent_error", 0]);
  }
  const irreversible = { name: "pay", description: "Pays.", effect: "irreversible", run: () => 1 } as const;
  assert.throws(() => defineTool({ ...irreversible, retries: 1 }), /cannot have retries/);
  assert.throws(() => defineTool({ ...irreversible, circuitBreaker: { failures: 0 } }), /circuitBreaker/);
});

test("RTY-13 a failed step says where it was thrown, with its causes", async () => {
  const run = await play((ctx) =>
    ctx.step(
      "fetch",
      () => {
        throw new Error("no answer", { cause: new Error("socket hang up") });
      },
      { retries: 0 },
    ),
  );
  const { events } = await logOf(run);
  const { stack } = events.find(({ event }) => event === "span.failed")?.payload ?? {};
  assert.match(JSON.stringify(stack), /no answer.*retries\.test\.ts:\d+.*Caused by: Error: socket hang up/);
});

function codeOf(error: unknown): string {
  return error instanceof AgentFailure ? error.code : String(error);
}

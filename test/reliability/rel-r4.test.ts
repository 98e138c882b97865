/** REL-R4: waits, schedules and what is valid for a time survive that the clock is set, forward and back. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Clock } from "../../src/kernel/core/clock.ts";
import { createKernel, type WholeKernel } from "../../src/kernel/kernel.ts";
import type { TaskRecord } from "../../src/kernel/kinds/task.ts";
import { updatePersona } from "../../src/kernel/personas/update-persona.ts";
import { Issuer } from "../../src/kernel/receipts/signing.ts";
import { createSession } from "../../src/kernel/sessions/create-session.ts";
import { submitTask } from "../../src/kernel/tasks/submit-task.ts";
import { defaultTenantId, ensureTenant } from "../../src/kernel/workspaces/ensure-tenant.ts";
import { systemCaller } from "../../src/policy/caller.ts";
import { newSigningKey } from "../../src/receipts/keys.ts";
import { type Agent, defineAgent } from "../../src/runtime/agents/agent.ts";
import { AgentRegistry } from "../../src/runtime/agents/registry.ts";
import { startRuntime } from "../../src/runtime/runtime.ts";
import { DueReader } from "../../src/runtime/scheduler/due-reader.ts";
import { startScheduleClock } from "../../src/runtime/scheduler/schedule-clock.ts";
import { createLogger } from "../../src/server/logger.ts";
import type { JsonObject, StoredEvent } from "../../src/store/port.ts";
import { openMemoryStore } from "../../src/store/sqlite/in-memory.ts";
import { until } from "../support/client.ts";

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const system = systemCaller(defaultTenantId);

/** The true time, and what somebody has set the clock to. */
class SetClock implements Clock {
  ahead = 0;
  passed = 0;
  now = () => Date.now() + this.ahead + this.passed;
  steady = () => performance.now() + this.passed;
}

interface World extends AsyncDisposable {
  kernel: WholeKernel;
  clock: SetClock;
  lines: string[];
  events: StoredEvent[];
  submit(input?: JsonObject): Promise<string>;
  statusOf(taskId: string): Promise<string>;
  stopSchedules(): Promise<void>;
  /** Another process goes on with what is in the log: it knows no more than that. */
  restart(): Promise<void>;
  /** Waits until the scheduler has looked at the clock. */
  looked(): Promise<void>;
  /** No run is in memory. */
  isAtRest(): Promise<boolean>;
}

async function startWorld(agent: Agent, clock = new SetClock()): Promise<World> {
  const store = openMemoryStore();
  const agents = new AgentRegistry([agent]);
  const issuer = new Issuer(newSigningKey().key, () => {});
  const kernel = createKernel({ store, clock, agents, issuer });
  await kernel.dispatch(ensureTenant, system, { tenantId: defaultTenantId });
  const lines: string[] = [];
  const events: StoredEvent[] = [];
  kernel.tail.onCommit((committed) => events.push(...committed));
  const logger = createLogger("info", [], { write: (line) => lines.push(line) });
  const start = () => startRuntime({ kernel, agents, logger, concurrency: 10 });
  let runtime = await start();
  const stopSchedules = startScheduleClock(kernel, logger);
  return {
    kernel,
    clock,
    lines,
    events,
    async submit(payload = {}) {
      const { result: session } = await kernel.dispatch(createSession, system, {
        workspaceId: "workspace_default",
      });
      const personaId = `persona_${agent.name}`;
      const request = { sessionId: session.id, personaId, input: { payload }, metadata: {} };
      return (await kernel.dispatch(submitTask, system, request)).result.id;
    },
    async statusOf(taskId) {
      return (await taskIn(kernel, taskId)).status;
    },
    stopSchedules,
    async restart() {
      await runtime.drain(1000);
      runtime = await start();
    },
    looked: () => runtime.sweep(),
    isAtRest: async () => runtime.isQuiet && runtime.load.runs === 0,
    async [Symbol.asyncDispose]() {
      await stopSchedules();
      await runtime.drain(0);
      kernel.tail.close();
      await store.close();
    },
  };
}

async function taskIn({ store }: WholeKernel, taskId: string): Promise<TaskRecord> {
  const document = await store.get("task", taskId);
  assert.ok(document !== undefined);
  return document.body as TaskRecord;
}

/** Sleeps as long as the input says, or that long. */
const sleeper = (ms: number) =>
  defineAgent({
    name: "sleeper",
    version: "1.0.0",
    async run(ctx) {
      await ctx.sleep(Number(Object(ctx.input).ms ?? ms));
    },
  });

async function isParked({ kernel }: World, taskId: string): Promise<boolean> {
  return (await taskIn(kernel, taskId)).parked !== null;
}

describe("Waits", () => {
  test("REL-R4 after the clock was ahead and is right again, sleeping tasks sleep and write nothing", async () => {
    await using world = await startWorld(sleeper(30 * 60_000));
    const { kernel, clock } = world;
    const first = await world.submit();
    await until(() => isParked(world, first), Boolean);
    clock.ahead = hourMs;
    await until(
      () => world.statusOf(first),
      (status) => status === "COMPLETED",
    );
    clock.ahead = 0;
    const tasks = [60_000, 61_000, 62_000].map((ms) => world.submit({ ms }));
    for (const task of tasks) await until(async () => isParked(world, await task), Boolean);
    const before = await kernel.store.head();
    for (let looks = 0; looks < 3; looks++) {
      await world.looked();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(await kernel.store.head(), before, "nothing was written while they slept");
    clock.passed = 63_000;
    for (const task of tasks)
      await until(
        async () => world.statusOf(await task),
        (status) => status === "COMPLETED",
      );
  });

  test("REL-R4 a run in memory whose wait is overdue by a clock put forward goes on", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<string>();
    const order: string[] = [];
    const busy = defineAgent({
      name: "sleeper",
      version: "1.0.0",
      async run(ctx) {
        // A step that is under way keeps the run in memory.
        const step = ctx.step("held", () => released);
        await ctx.sleep(2 * hourMs);
        order.push("woken");
        await step;
        order.push("released");
      },
    });
    await using world = await startWorld(busy);
    const task = await world.submit();
    const isSleeping = ({ event, payload }: StoredEvent) =>
      event === "span.started" && "kind" in payload && payload.kind === "sleep";
    await until(
      async () => world.events,
      (events) => events.some(isSleeping),
    );
    world.clock.ahead = 3 * hourMs;
    await until(
      async () => order,
      (done) => done.includes("woken"),
    );
    assert.deepEqual(order, ["woken"]);
    release("done");
    await until(
      () => world.statusOf(task),
      (status) => status === "COMPLETED",
    );
  });

  test("REL-R4 a short wait in memory stays short when the clock is put back", async () => {
    await using world = await startWorld(sleeper(900));
    const task = await world.submit();
    await until(
      () => world.statusOf(task),
      (status) => status === "WORKING",
    );
    world.clock.ahead = -dayMs;
    await until(
      () => world.statusOf(task),
      (status) => status === "COMPLETED",
    );
  });

  const clockWasAhead = async (world: World, ms: number) => {
    world.clock.ahead = dayMs;
    await world.looked();
    const task = await world.submit({ ms });
    await until(() => isParked(world, task), Boolean);
    return task;
  };
  const isAsleep = async (world: World, task: string) => {
    for (let looks = 0; looks < 3; looks++) {
      await world.looked();
      await until(() => world.isAtRest(), Boolean);
    }
    assert.equal(await world.statusOf(task), "WORKING");
  };
  const wokenOnce = async (world: World, task: string) => {
    await until(
      () => world.statusOf(task),
      (status) => status === "COMPLETED",
    );
    const ends = world.events.filter(
      ({ event, taskId, payload }) =>
        event === "span.completed" && taskId === task && "kind" in payload && payload.kind === "sleep",
    );
    assert.equal(ends.length, 1);
  };

  test("REL-R4 a sleep that began while the clock was ahead lasts as long as it says", async () => {
    await using world = await startWorld(sleeper(1));
    const { clock } = world;
    const short = await clockWasAhead(world, 2 * hourMs);
    const long = await world.submit({ ms: 4 * hourMs });
    await until(() => isParked(world, long), Boolean);
    clock.passed = hourMs;
    await isAsleep(world, short);
    clock.ahead = 0;
    await isAsleep(world, short);
    // Put back twice, the second time beyond what is right.
    clock.ahead = -hourMs;
    await isAsleep(world, short);
    clock.passed = 2 * hourMs - 60_000;
    await isAsleep(world, short);
    clock.passed = 2 * hourMs + 1000;
    await wokenOnce(world, short);
    await isAsleep(world, long);
    clock.passed = 4 * hourMs + 1000;
    await wokenOnce(world, long);
  });

  test("REL-R4 a sleep that began before the clock was ahead ends no earlier for that", async () => {
    await using world = await startWorld(sleeper(3 * hourMs));
    const { clock } = world;
    const task = await world.submit();
    await until(() => isParked(world, task), Boolean);
    clock.ahead = hourMs;
    await isAsleep(world, task);
    const before = await world.kernel.store.head();
    clock.ahead = 0;
    await isAsleep(world, task);
    assert.equal(await world.kernel.store.head(), before, "what ends in time is left alone");
    clock.passed = 3 * hourMs - 60_000;
    await isAsleep(world, task);
    clock.passed = 3 * hourMs + 1000;
    await wokenOnce(world, task);
  });

  test("REL-R4 after a restart a sleep lasts no longer than it says, wherever the clock was", async () => {
    await using world = await startWorld(sleeper(1));
    const { clock } = world;
    const task = await clockWasAhead(world, 2 * hourMs);
    clock.ahead = 0;
    await world.restart();
    await isAsleep(world, task);
    clock.passed = hourMs;
    await world.restart();
    await isAsleep(world, task);
    clock.passed = 2 * hourMs + 1000;
    await wokenOnce(world, task);
  });

  test("REL-R4 a run that stays in memory sleeps as long as it says when the clock is put back", async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<string>();
    const busy = defineAgent({
      name: "sleeper",
      version: "1.0.0",
      async run(ctx) {
        const step = ctx.step("held", () => released);
        await ctx.sleep(2 * hourMs);
        await step;
      },
    });
    await using world = await startWorld(busy);
    const { clock } = world;
    clock.ahead = dayMs;
    await world.looked();
    const task = await world.submit();
    const ofSleep = ({ payload }: StoredEvent) => "kind" in payload && payload.kind === "sleep";
    const sleeps = async () => world.events.filter(ofSleep).map(({ event }) => event);
    await until(sleeps, (found) => found.length === 1);
    clock.ahead = 0;
    await world.looked();
    await until(sleeps, (found) => found.length === 2);
    release("done");
    await until(() => isParked(world, task), Boolean);
    clock.passed = 2 * hourMs + 1000;
    await wokenOnce(world, task);
  });

  test("REL-R4 one line says in which direction and how far the clock was set", async () => {
    await using world = await startWorld(sleeper(1));
    for (const ahead of [hourMs, -hourMs]) {
      world.clock.ahead = ahead;
      await world.looked();
      await world.looked();
    }
    world.clock.ahead += 500;
    await world.looked();
    const jumps = world.lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "clock.jumped");
    assert.deepEqual(
      jumps.map(({ by_ms }) => Math.round(by_ms / hourMs)),
      [1, -2],
    );
  });
});

describe("Schedules", () => {
  for (const isRestarted of [false, true]) {
    const when = isRestarted ? "after a restart" : "at once";
    test(`REL-R4 a schedule that was a day ahead goes on at its next tick ${when}`, async () => {
      await using world = await startWorld(sleeper(1));
      const { kernel, clock } = world;
      const fired = async () =>
        world.events.filter(({ event }) => event === "vendor.bridle.schedule.fired").length;
      clock.ahead = dayMs;
      await kernel.dispatch(updatePersona, system, {
        personaId: "persona_sleeper",
        changes: { schedules: [{ cron: "* * * * * *" }] },
      });
      await until(fired, (count) => count > 0);
      if (isRestarted) await world.stopSchedules();
      clock.ahead = 0;
      const before = await fired();
      const stop = isRestarted ? startScheduleClock(kernel, createLogger("silent", [])) : null;
      await until(fired, (count) => count > before);
      await stop?.();
      const moved = world.events.filter(({ event }) => event === "vendor.bridle.schedule.moved");
      assert.equal(moved.length, 1);
    });
  }

  test("REL-R4 a clock put back by seconds does not repeat the tick that was carried out", async () => {
    await using world = await startWorld(sleeper(1));
    const { kernel, clock } = world;
    // Just behind a full hour.
    clock.passed = hourMs - (Date.now() % hourMs) - 5000;
    await kernel.dispatch(updatePersona, system, {
      personaId: "persona_sleeper",
      changes: { schedules: [{ cron: "0 0 * * * *" }] },
    });
    const ticks = async () =>
      world.events.map(({ event }) => event).filter((event) => event.startsWith("vendor.bridle.schedule."));
    clock.passed += 10_000;
    await until(ticks, (found) => found.length === 2);
    clock.ahead = -20_000;
    await world.looked();
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.equal((await ticks()).length, 2, JSON.stringify(await ticks()));
  });
});

test("REL-R4 a ticket ends by the time that passed, not by a clock that was put back", async () => {
  await using world = await startWorld(sleeper(1));
  const { kernel, clock } = world;
  const { ticket, validMs } = kernel.tickets.issue("credential");
  clock.passed = validMs + 1;
  clock.ahead = -dayMs;
  assert.equal(kernel.tickets.redeem(ticket), null);
});

test("REL-R4 what is due is read once, and again after the clock was put back", async () => {
  const documents = [
    { id: "early", wakeAt: 1000 },
    { id: "late", wakeAt: 90_000 },
  ];
  const store: Pick<WholeKernel["store"], "due"> = {
    due: async ({ after, through }) =>
      documents.filter(({ wakeAt }) => wakeAt > after.wakeAt && wakeAt <= through),
  };
  const waits = new DueReader({ store, kind: "task" });
  const retries = new DueReader({ store, kind: "push_config", isRetry: true });
  const read = async (reader: DueReader, now: number) => {
    const ids: string[] = [];
    for await (const id of reader.read(now)) ids.push(id);
    return ids;
  };
  assert.deepEqual(await read(waits, 5000), ["early"]);
  assert.deepEqual(await read(waits, 6000), []);
  assert.deepEqual(await read(waits, 100_000), ["late"]);
  assert.ok(waits.hasPassed(80_000, 100_000) && !waits.hasPassed(80_000, 7000));
  assert.deepEqual(await read(waits, 7000), ["early"]);
  assert.deepEqual(await read(waits, 100_000), ["late"]);
  assert.deepEqual(
    await read(retries, 5000),
    ["early", "late"],
    "at the start all, whatever clock chose its time",
  );
  assert.deepEqual(await read(retries, 6000), []);
  assert.deepEqual(await read(retries, 100_000), ["late"]);
  assert.deepEqual(await read(retries, 7000), ["early", "late"]);
});

/** What the log tells is counted as it is committed, by closed labels. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { Type } from "typebox";
import { Exposition } from "../../../test/support/exposition.ts";
import { TracedStage } from "../../../test/support/traced-stage.ts";
import type { EventKind, EventPayloads } from "../../kernel/core/events.ts";
import type { ReplayMark } from "../../kernel/kinds/replay.ts";
import { updatePersona } from "../../kernel/personas/update-persona.ts";
import { createQuota } from "../../kernel/quotas/change-quotas.ts";
import { replayTask } from "../../kernel/replay/replay-task.ts";
import { defineAgent } from "../../runtime/agents/agent.ts";
import { AgentRegistry } from "../../runtime/agents/registry.ts";
import type { StoredEvent } from "../../store/port.ts";
import { openMemoryStore } from "../../store/sqlite/in-memory.ts";
import { defineTool } from "../../tools/define.ts";
import { WorkMetrics } from "./work.ts";

const now = Date.parse("2026-01-01T00:00:00.000Z");

function eventOf<E extends EventKind>(
  event: E,
  payload: object,
  more: Partial<StoredEvent> = {},
): StoredEvent {
  return {
    ...{ event, payload, resource: { object: "task", id: "task_1" }, taskId: "task_1", actor: null },
    ...{ tenantId: "tenant_default", workspaceId: null, sessionId: null },
    ...{ createdAt: new Date(now).toISOString(), position: 1, sequence: 1, previous: null },
    ...more,
  };
}

function counting(agents = new AgentRegistry([])) {
  const registry = new Registry();
  const options = {
    store: openMemoryStore(),
    agents,
    now: () => now,
    tools: ["clock"],
    mcpServers: ["files"],
  };
  const failures: unknown[] = [];
  const work = new WorkMetrics(registry, options, (act) => (...args) => {
    try {
      act(...args);
    } catch (error) {
      failures.push(error);
    }
  });
  return {
    async hear(...events: StoredEvent[]): Promise<Exposition> {
      work.hear(events);
      assert.deepEqual(failures, []);
      return new Exposition(await registry.metrics());
    },
  };
}

test("MET-2 counts webhook, connector, schedule, hand-off and replay events by kind", async () => {
  // Given webhooks, connectors, schedules, hand-offs and replays, when the log tells of them, then each is counted as
  // what it was.
  const told = { through_event_id: "evt_1", attempts: 1, problem: "503" };
  const failed = { ...told, count: 2, next_attempt_at: "" };
  const delivery = { delivery_id: "d", webhook_id: "w" };
  const found = await counting().hear(
    eventOf("vendor.bridle.push_config.delivered", { through_event_id: "evt_1", count: 3, is_last: false }),
    eventOf("vendor.bridle.push_config.attempt_failed", failed),
    eventOf("vendor.bridle.push_config.gave_up", { ...told, count: 0 }),
    eventOf("connector.delivery_received", delivery),
    eventOf("connector.normalized", { delivery_id: "d", event_kind: null, status: "accepted" }),
    eventOf("connector.delivery_received", delivery),
    eventOf("connector.normalized", { delivery_id: "d", event_kind: null, status: "ignored" }),
    eventOf("connector.delivery_deduped", { ...delivery, task_ids: [] }),
    eventOf("connector.failed", { webhook_id: "w", code: "x", reason: "y" }),
    eventOf("vendor.bridle.schedule.fired", { tick: "", task_id: null, refused: null }),
    eventOf("vendor.bridle.handoff.created", { handoff: {} }),
    eventOf("replay.started", {}),
    eventOf("replay.failed", {}),
  );
  const by = (name: string, ...values: string[]) => values.map((event) => found.sum(name, { event }));
  assert.deepEqual(by("bridle_webhook_notifications_total", "delivered", "failed", "given_up"), [5, 1, 1]);
  assert.deepEqual(
    by("bridle_connector_deliveries_total", "received", "accepted", "ignored", "deduped", "failed"),
    [2, 1, 1, 1, 1],
  );
  assert.equal(found.sum("bridle_schedules_fired_total"), 1);
  assert.equal(found.sum("bridle_handoffs_total"), 1);
  assert.deepEqual(by("bridle_replays_total", "started", "completed", "failed"), [1, 0, 1]);
});

test("MET-2 counts an exhausted quota once, by scope and limit, and a replay as one", async () => {
  // Given a quota and a replay, when a task comes to its limit and another is replayed, then the quota is counted once,
  // under its scope and limit, and the replay as one.
  const worker = defineAgent({
    name: "worker",
    version: "1.0.0",
    run: async (ctx) => await ctx.step("work", () => 1),
  });
  const eager = defineAgent({
    name: "eager",
    version: "1.0.0",
    run: async (ctx) => {
      await ctx.spend({ usd: 5 });
      return null;
    },
  });
  await using world = await TracedStage.begin([worker, eager]);
  const { kernel } = world;
  const source = await world.run("worker");
  const replay = { taskId: source, mode: "exact", override: {}, allowLive: [] } as const;
  await kernel.dispatch(replayTask, world.stage.system, replay);
  const limited = { scope: "persona", limits: { usd: 1 } } as const;
  const { result: quota } = await kernel.dispatch(createQuota, world.stage.system, limited);
  const changes = { quota_id: quota.id };
  await kernel.dispatch(updatePersona, world.stage.system, { personaId: "persona_eager", changes });
  await world.run("eager");
  await world.until(() => world.stage.database.events().some((event) => event.event === "replay.completed"));
  const found = await counting().hear(...(await kernel.store.events({ after: 0, limit: 1000 })));
  assert.equal(found.sum("bridle_quota_exhausted_total", { scope: "persona", limit: "usd" }), 1);
  assert.equal(found.sum("bridle_quota_exhausted_total"), 1);
  assert.equal(found.sum("bridle_replays_total", { event: "completed" }), 1);
  assert.equal(found.sum("bridle_steps_total", { kind: "step" }), 1);
});

test("MET-2, MET-8 counts the live steps of a replay but not the copied ones", async () => {
  // Given a replay, when it copies a step and does another live, then the live one is counted.
  const marks = { source_task_id: "task_0", mode: "exact", original_event_id: null } as const;
  const step: EventPayloads["span.completed"] = {
    ...{ step: "step:a:1", kind: "step", name: "a" },
    result: { output: { inline: null } },
  };
  const mark = (is_copy: boolean): { replay: ReplayMark } => ({ replay: { ...marks, is_copy } });
  const found = await counting().hear(
    eventOf("span.completed", step, mark(true)),
    eventOf("span.completed", step, mark(false)),
  );
  assert.equal(found.sum("bridle_steps_total", { kind: "step", outcome: "completed" }), 1);
});

test("MET-5 counts unknown names as other, and a tool by name once its agent is loaded", async () => {
  // Given names that nobody loaded, when they are counted, then they are other; a tool of an agent that is loaded later
  // has its name.
  const agents = new AgentRegistry([]);
  const counted = counting(agents);
  const call = (name: string, kind = "tool") =>
    eventOf("span.completed", { step: "s", kind, name, result: {}, tool_call: {} });
  const quota = { resource: { object: "quota", id: "quota_1" } };
  const found = await counted.hear(
    ...[
      call("clock"),
      call("invented"),
      call("later"),
      call("files.read", "mcp"),
      call("nowhere.read", "mcp"),
    ],
    eventOf("task.submitted", { task: { agent: { name: "stranger" } } }),
    eventOf("task.failed", { failure: { code: "made_up" } }),
    eventOf("vendor.bridle.quota.exhausted", { scope: "tenant", limit: "usd" }, quota),
    eventOf("vendor.bridle.quota.exhausted", { scope: "odd", limit: "strange" }, quota),
    // The task is told the same, which is no other time.
    eventOf("vendor.bridle.quota.exhausted", { scope: "tenant", limit: "usd" }),
  );
  const tools = (name: string) => found.sum("bridle_tool_calls_total", { tool: name });
  assert.deepEqual(["clock", "mcp:files", "other"].map(tools), [1, 1, 3]);
  assert.equal(found.sum("bridle_tasks_submitted_total", { agent: "other" }), 1);
  assert.equal(found.sum("bridle_task_failures_total", { code: "other" }), 1);
  assert.equal(found.sum("bridle_quota_exhausted_total", { scope: "tenant", limit: "usd" }), 1);
  assert.equal(found.sum("bridle_quota_exhausted_total", { scope: "other", limit: "other" }), 1);
  assert.equal(found.sum("bridle_quota_exhausted_total"), 2);
  assert.deepEqual(
    [...found.series].filter((each) => /invented|nowhere|stranger|made_up|odd|strange/.test(each)),
    [],
  );

  const later = defineTool({
    ...{ name: "later", description: "Comes later.", effect: "none" },
    input: Type.Object({}),
    run: () => null,
  });
  agents.replace([defineAgent({ name: "new", version: "1.0.0", tools: [later], run: async () => null })]);
  assert.equal((await counted.hear(call("later"))).sum("bridle_tool_calls_total", { tool: "later" }), 1);
});

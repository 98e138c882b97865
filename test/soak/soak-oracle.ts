/** What must hold when a soak is over: of what was promised, of what really happened, and of what is in the log. */

import assert from "node:assert/strict";
import { verifyBundle } from "../../src/receipts/bundle.ts";
import type { Client, Json } from "../support/client.ts";
import type { Clients } from "./clients.ts";
import type { Outside } from "./outside.ts";

/** Memory that a server of this load never needs, and descriptors. */
const memoryMbMax = 700;
const descriptorsMax = 2000;

export interface Soaked {
  clients: Clients;
  outside: Outside;
  tasks: readonly Json[];
  peakMb: number;
  peakDescriptors: number;
  starts: number;
}

export async function assertSoaked(soaked: Soaked): Promise<{ events: number }> {
  const { clients, outside, tasks, starts } = soaked;
  assert.deepEqual(clients.refusals, []);
  assertPromises(clients, tasks);
  const events = await clients.client.listAll("/v1/events");
  assertActs(outside, events, starts);
  await assertReceipts(clients.client, tasks);
  const ids = events.map(({ id }) => id);
  assert.deepEqual(clients.followed.slice(0, ids.length), ids, "the resumed stream is the log");
  assert.ok(soaked.peakMb <= memoryMbMax, `${soaked.peakMb} MB of memory`);
  assert.ok(soaked.peakDescriptors <= descriptorsMax, `${soaked.peakDescriptors} descriptors`);
  return { events: events.length };
}

/** Everything acknowledged is there once and came to its end; nothing that can be repeated is there twice. */
function assertPromises({ promised }: Clients, tasks: readonly Json[]): void {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  for (const { protocol, key, taskId } of promised) {
    const task = byId.get(taskId);
    assert.ok(task !== undefined, `${key} was acknowledged as ${taskId}, which is not there`);
    const code = task.failure?.code ?? null;
    assert.ok(
      task.status === "COMPLETED" || unknowable.has(code),
      `${key} (${protocol}): ${task.status} ${JSON.stringify(task.failure)}`,
    );
  }
  const repeatable = promised.filter(({ protocol }) => protocol !== "mcp").map(({ taskId }) => taskId);
  const others = tasks.filter(({ id }) => !repeatable.includes(id));
  const unasked = others.length - promised.filter(({ protocol }) => protocol === "mcp").length;
  // A call of a tool whose answer is lost is not repeated, and nobody knows its task.
  assert.ok(unasked <= lostMcpMax, `${unasked} tasks that nobody was promised`);
  assert.equal(new Set(repeatable).size, repeatable.length, "one task for each key");
}

const unknowable = new Set(["outcome_unknown", "approval_used"]);
const lostMcpMax = 10_000;

/** What is done once at most is; what is recorded is not done again. */
function assertActs({ acts }: Outside, events: readonly Json[], starts: number): void {
  const recorded = new Map<string, number>();
  for (const event of events) {
    if (event.event !== "span.completed") continue;
    recorded.set(`${event.task_id}:${event.payload.step}`, Date.parse(event.created_at));
  }
  for (const [key, times] of acts) {
    const isOnce = key.includes(":tool:") || key.includes(":effect:");
    assert.ok(!isOnce || times.length === 1, `${key} happened ${times.length} times`);
    assert.ok(times.length <= starts + retriesMax, `${key} happened ${times.length} times`);
    const last = times.at(-1) ?? 0;
    const at = recorded.get(key);
    assert.ok(at === undefined || last <= at + clockMs, `${key} happened again after it was recorded`);
  }
}

const retriesMax = 3;
/** Both are by the same clock, in whole milliseconds. */
const clockMs = 2;

async function assertReceipts(client: Client, tasks: readonly Json[]): Promise<void> {
  const path = "/v1/workspaces/workspace_default/receipts/export";
  const answer = await fetch(client.url + path, { headers: client.headers() });
  assert.equal(answer.status, 200);
  const text = await answer.text();
  const report = await verifyBundle(text.split("\n").filter((line) => line !== ""));
  assert.equal(report.valid, true, JSON.stringify(report.failures));
  assert.ok(report.receipts >= tasks.length, `${report.receipts} receipts of ${tasks.length} tasks`);
}

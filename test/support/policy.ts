/** Personas, quotas and tasks of the agent `worker`, as tests of policy need them. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Client, Json } from "./client.ts";

export const workerServer = fileURLToPath(new URL("./policy-agents-server.ts", import.meta.url));

export async function createPersona(client: Client, fields: object = {}): Promise<Json> {
  const { status, body } = await client.post("/v1/personas", {
    name: "Worker",
    version: "1.0.0",
    entry_workflow: "worker",
    description: "",
    autonomy_tier: "act_auto",
    receipt_policy: "required",
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

export async function createQuota(client: Client, fields: object): Promise<Json> {
  const { status, body } = await client.post("/v1/quotas", { scope: "persona", ...fields });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

export interface Work {
  sessionId: string;
  personaId: string;
}

export function workOf({ sessionId, personaId }: Work, ...ops: object[]): object {
  return { session_id: sessionId, persona_id: personaId, input: { ops } };
}

/** Submits work and gives the task once it has ended or waits for somebody. */
export async function perform(client: Client, work: Work, ...ops: object[]): Promise<Json> {
  const { status, body } = await client.post("/v1/tasks", workOf(work, ...ops), { prefer: "wait=30" });
  assert.equal(status, 202, JSON.stringify(body));
  return body;
}

/** What the worker gave back. */
export async function resultsOf(client: Client, task: Json): Promise<Json> {
  assert.equal(task.status, "COMPLETED", JSON.stringify(task));
  const messages = await client.listAll(`/v1/sessions/${task.session_id}/messages`);
  return messages.findLast(({ task_id, role }) => task_id === task.id && role === "agent").parts[0].value;
}

export async function receiptOf(client: Client, task: Json): Promise<Json> {
  const { status, body } = await client.get(`/v1/receipts/${task.receipt_id}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

export async function usageOf(client: Client, quotaId: string): Promise<Json> {
  const { status, body } = await client.get(`/v1/quotas/${quotaId}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body.usage;
}

/** An exact replay, which must come to the same end. */
export async function assertRepeatable(client: Client, task: Json): Promise<void> {
  const { body } = await client.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" });
  const replay = await client.untilTask(body.id, ({ status }) => ["COMPLETED", "FAILED"].includes(status));
  assert.deepEqual([replay.status, replay.failure], [task.status, task.failure]);
}

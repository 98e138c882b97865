/** Scripts for the rehearsal agent, over any binding: tasks in whatever state a test needs. */

import assert from "node:assert/strict";
import { Client, type Json, until } from "../support/client.ts";
import { type CallOptions, message, type Stream, type Wire } from "./wire.ts";

export const rehearsal: CallOptions = { agent: "rehearsal" };
/** Longer than any test. */
export const sleepLong = "sleep 3600000";

export function script(...lines: string[]): Json {
  return message(lines.join("\n"));
}

/** The task once it has ended or waits for somebody. */
export async function play(wire: Wire, ...lines: string[]): Promise<Json> {
  return await taskOf(wire, { message: script(...lines) });
}

/** The task as soon as there is one. */
export async function begin(wire: Wire, ...lines: string[]): Promise<Json> {
  return await taskOf(wire, { message: script(...lines), configuration: { returnImmediately: true } });
}

async function taskOf(wire: Wire, request: Json): Promise<Json> {
  const { result, error } = await wire.call("SendMessage", request, rehearsal);
  assert.equal(error, undefined);
  return result.task;
}

/** What is said to a task that there is. */
export function reply(task: Json, text: string, more: Json = {}): Json {
  return message(text, { taskId: task.id, ...more });
}

export async function get(wire: Wire, task: Json, more: Json = {}, options?: CallOptions): Promise<Json> {
  const { result, error } = await wire.call("GetTask", { id: task.id, ...more }, options);
  assert.equal(error, undefined);
  return result;
}

export async function untilState(wire: Wire, task: Json, state: string): Promise<Json> {
  return await until(
    () => get(wire, task),
    (now) => now.status.state === `TASK_STATE_${state}`,
  );
}

export async function cancel(wire: Wire, task: Json): Promise<Json> {
  const { result, error } = await wire.call("CancelTask", { id: task.id });
  assert.equal(error, undefined);
  return result;
}

/** A stream that has begun, and the task that it began with. */
export async function follow(wire: Wire, task: Json, options?: CallOptions): Promise<[Stream, Json]> {
  const stream = await wire.stream("SubscribeToTask", { id: task.id }, options);
  assert.equal(stream.error, null);
  const first = await stream.next();
  assert.deepEqual(Object.keys(first), ["task"]);
  return [stream, first.task];
}

export const stateOf = ({ task, statusUpdate }: Json): string => (task ?? statusUpdate)?.status.state;

export const textsOf = (messages: Json[] = []): string[] =>
  messages.flatMap(({ parts }) => parts.map(({ text }: Json) => text));

/** A key for everything in a tenant. */
export async function keyOf({ url }: { url: string }, tenantId: string): Promise<string> {
  return (await new Client({ url }).createKey({ tenant_id: tenantId })).key;
}

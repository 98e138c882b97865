/** `bridle task answer`: what a task asked for, as a text or as JSON. */

import { errorOf } from "../../sdk/client/errors.ts";
import type { BridleClient, Task } from "../../sdk/client/index.ts";
import type { JsonObject } from "../../sdk/shell/index.ts";
import { answerIn, fieldsOf, hintFor } from "../terminal/fields.ts";
import { oneLine } from "../terminal/text.ts";
import { settledTask } from "./find-task.ts";

/** What has to be typed after `bridle task answer TASK`. */
export function answerForm(schema: Record<string, unknown> | null): string {
  const isText = schema === null || schema.type === "string" || fieldsOf(asJson(schema))?.length === 1;
  return isText ? "TEXT" : "--json-answer JSON";
}

/** A schema came as JSON, and is JSON. */
export function asJson(schema: Record<string, unknown>): JsonObject {
  return JSON.parse(JSON.stringify(schema));
}

/** What is sent, from what was typed. Throws when that is no answer to the question. */
export function answerOf({ waiting_for }: Task, text: string): unknown {
  const schema = waiting_for?.schema ?? null;
  if (schema === null) return text;
  const form = asJson(schema);
  const answer = answerIn(text, form);
  if (answer !== null) return answer;
  const shown = JSON.stringify(oneLine(text, 60));
  throw new Error(`${shown} is not a valid answer. ${hintFor(form) ?? ""} Use --json-answer to send JSON.`);
}

/** The task, if it has asked something. */
export async function askingTask(client: BridleClient, id: string): Promise<Task> {
  const task = await settledTask(client, id);
  if (task.waiting_for?.kind === "input") return task;
  const instead = task.waiting_for?.kind === "approval" ? "; it waits for an approval: bridle approve" : "";
  const message = `Task ${id} has not asked anything: it is ${task.status}${instead}.`;
  throw errorOf({ code: "invalid_state_transition", message, status: null, requestId: null });
}

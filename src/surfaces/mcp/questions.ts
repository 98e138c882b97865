/** Questions of tasks as forms that clients put to people, and what they fill in as answers. */

import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import { Type } from "typebox";
import { HarnessError } from "../../kernel/core/errors.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { type Part, textPart } from "../../kernel/kinds/message.ts";
import type { PendingRequest, TaskRecord } from "../../kernel/kinds/task.ts";
import { appendTaskMessage } from "../../kernel/tasks/append-task-message.ts";
import { answerIn, questionForm } from "../../kernel/tasks/question-forms.ts";
import type { Caller } from "../../policy/caller.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { checker } from "../validate.ts";
import type { Sdk } from "./sdk.ts";

export type Form = ElicitRequestFormParams["requestedSchema"];

/** Which question of which task: it goes out with the question and comes back with the answer. */
export interface QuestionId {
  taskId: string;
  step: string;
}

const idPrefix = "question";

export function writeQuestionId({ taskId, step }: QuestionId): string {
  return `${idPrefix} ${taskId} ${step}`;
}

/** Whoever sends it needs the right to answer that task all the same, so there is nothing in it to protect. */
export function readQuestionId(text: unknown): QuestionId | null {
  if (typeof text !== "string" || text.length > 1000) return null;
  const [prefix, taskId = "", ...step] = text.split(" ");
  return prefix === idPrefix && taskId !== "" && step.length > 0 ? { taskId, step: step.join(" ") } : null;
}

/** The form for a question; null for one that asks for more than a form has. */
export function formFor(sdk: Sdk, { schema }: PendingRequest): Form | null {
  const form = questionForm(schema);
  if (form === null) return null;
  const properties: Form["properties"] = {};
  for (const [name, field] of Object.entries(form.properties)) {
    if (!sdk.isSpecType.PrimitiveSchemaDefinition(field)) return null;
    properties[name] = field;
  }
  return { type: "object", properties, ...(form.required.length === 0 ? {} : { required: form.required }) };
}

const checkElicited = checker(
  Type.Object({
    action: Type.Enum(["accept", "decline", "cancel"]),
    content: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
);

/** What a person did with a form: the answer, or null when there is none. Throws for what is no such thing. */
export function readElicited(value: unknown): { content: Record<string, unknown> } | null {
  const { action, content = {} } = checkElicited(value);
  return action === "accept" ? { content } : null;
}

/** Whether the question was still open. An answer to one that is not is nobody's. */
export async function answerForm(
  kernel: Kernel,
  caller: Caller,
  { taskId, step }: QuestionId,
  content: Record<string, unknown>,
): Promise<boolean> {
  const task = await findVisible(kernel.store, caller, "task", taskId);
  if (task?.pending?.step !== step || task.pending.kind !== "input") return false;
  await answerTask(kernel, caller, task, answerIn(task.pending.schema, content));
  return true;
}

export async function answerTask(
  kernel: Kernel,
  caller: Caller,
  { id, pending }: TaskRecord,
  answer: unknown,
): Promise<void> {
  const message = { role: "user" as const, parts: [partOf(answer, pending?.schema ?? null)] };
  await kernel.dispatch(appendTaskMessage, caller, { taskId: id, kind: "input", message });
}

/** It came as JSON, so it is JSON. A text is one where a text is asked for, and where JSON was sent as text. */
function partOf(answer: unknown, schema: JsonObject | null): Part {
  if (answer === undefined) {
    throw new HarnessError("invalid_request", "The answer is missing.", { param: "answer" });
  }
  const isText =
    typeof answer === "string" && (schema === null || schema.type === "string" || isJson(answer));
  return isText ? textPart(answer) : { type: "json", value: answer as JsonValue, visibility: "public" };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

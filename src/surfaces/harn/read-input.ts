/**
 * From checked bodies to the kernel's types. JSON that came over the wire is JSON: the schema says `unknown` for what
 * callers may put freely, and here it becomes the kernel's `JsonObject`.
 */

import type { Static } from "typebox";
import { HarnessError } from "../../kernel/core/errors.ts";
import type { MessageInput as KernelMessageInput, Part } from "../../kernel/kinds/message.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { checker } from "../validate.ts";
import { MessageInput } from "./schemas-message.ts";
import type { SubmitTaskRequest } from "./schemas-task.ts";

export function jsonObject(value: Record<string, unknown> | undefined): JsonObject | undefined {
  return value as JsonObject | undefined;
}

export function jsonValue(value: unknown): JsonValue | undefined {
  return value as JsonValue | undefined;
}

export function messageInput({ role, parts, metadata }: Static<typeof MessageInput>): KernelMessageInput {
  const message: KernelMessageInput = { role, parts: parts as Part[] };
  const given = jsonObject(metadata);
  return given === undefined ? message : { ...message, metadata: given };
}

const checkMessage = checker(MessageInput);

/** The input of a task is a message, recognizable by its parts, or any other JSON object. */
export function taskInput(
  input: Static<typeof SubmitTaskRequest>["input"],
): { message: KernelMessageInput } | { payload: JsonObject } {
  if (!Object.hasOwn(input, "parts")) return { payload: jsonObject(input) ?? {} };
  try {
    return { message: messageInput(checkMessage(input)) };
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    const param = error.param === null ? "input" : `input.${error.param}`;
    throw new HarnessError(error.code, error.message.replace(error.param ?? "", param), { param });
  }
}

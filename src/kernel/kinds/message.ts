/** A message: one turn of a conversation, in parts. */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { Content } from "../core/content.ts";
import type { Resource, Visibility } from "./resource.ts";

export type Role = "user" | "assistant" | "system" | "tool" | "agent";

export type Part =
  | { type: "text"; text: string; visibility: Visibility }
  | { type: "json"; value: JsonValue; visibility: Visibility }
  | { type: "tool_call"; tool_call_id: string; name: string; input: JsonObject; visibility: Visibility }
  | {
      type: "tool_result";
      tool_call_id: string;
      output: JsonValue;
      status: "ok" | "error";
      visibility: Visibility;
    }
  | { type: "artifact_ref"; artifact_id: string; visibility: Visibility }
  | { type: "file_ref"; uri: string; mime_type: string; visibility: Visibility }
  | { type: "image_ref"; artifact_id: string; mime_type: string; visibility: Visibility };

export interface MessageInput {
  role: Role;
  parts: Part[];
  metadata?: JsonObject;
}

export interface MessageRecord extends Resource<"message"> {
  workspace_id: string;
  session_id: string;
  task_id: string | null;
  role: Role;
  parts: Content<Part[]>;
  is_replayed?: true;
}

export function textPart(text: string): Part {
  return { type: "text", text, visibility: "public" };
}

/** What a person would read: the text parts, one after the other. */
export function textOf(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** What a message says in data: its first JSON object, or an empty one. */
export function firstJsonObject(parts: readonly Part[]): JsonObject {
  for (const part of parts) {
    if (part.type !== "json" || typeof part.value !== "object" || part.value === null) continue;
    if (!Array.isArray(part.value)) return part.value;
  }
  return {};
}

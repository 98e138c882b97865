/**
 * What was said in a session before a task, as a model is told it. The record of having read it says where in the log it stands,
 * not what it says: the messages are there already.
 */

import type { JsonObject, JsonValue, TenantStore } from "../../store/port.ts";
import { MissingContent, unseal } from "../core/content.ts";
import { type MessageRecord, textOf } from "../kinds/message.ts";
import type { SessionRecord, TranscriptRange } from "../kinds/session.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { walkTranscript } from "./transcript.ts";

/** Which messages: those of these ranges of the log up to the task's own, the last so many of them. */
export type ConversationExtent = {
  ranges: (TranscriptRange & JsonObject)[];
  /** The task's message, or the task itself where it was given none. */
  before: string;
  until: string;
  last: number;
};

export type SaidBefore = { role: "user" | "assistant"; content: string };

/** Nothing that is said after this position is part of it. */
export function extentOf(
  { ranges }: SessionRecord,
  { id, input, created_at }: TaskRecord,
  through: number,
  last: number,
): ConversationExtent {
  return {
    ranges: ranges.map((range) => ({ ...range, through: range.through ?? through })),
    before: "message_id" in input ? input.message_id : id,
    until: created_at,
    last,
  };
}

export function isExtent(value: JsonValue): value is ConversationExtent & JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "ranges" in value;
}

export async function readConversation(
  store: TenantStore,
  { ranges, before, until, last }: ConversationExtent,
): Promise<SaidBefore[]> {
  const said: SaidBefore[] = [];
  for await (const { message } of walkTranscript(store, ranges)) {
    if (message.id === before || message.task_id === before || message.created_at > until) break;
    const words = await wordsOf(store, message);
    if (words !== null) said.push(words);
    if (said.length > last) said.shift();
  }
  return said;
}

/** What was erased, or has no words, is left out. */
async function wordsOf(
  store: TenantStore,
  { role, parts: sealed }: MessageRecord,
): Promise<SaidBefore | null> {
  const speaker = role === "agent" ? "assistant" : role === "user" ? "user" : null;
  if (speaker === null) return null;
  try {
    const parts = await unseal(sealed, store);
    const json = parts.flatMap((part) => (part.type === "json" ? [JSON.stringify(part.value)] : []));
    const content = [textOf(parts), ...json].filter((text) => text !== "").join("\n");
    return content === "" ? null : { role: speaker, content };
  } catch (error) {
    if (error instanceof MissingContent) return null;
    throw error;
  }
}

/** The transcript of a session as messages of the AI SDK, for the beginning of a chat. */

import { lastMessages } from "../../../kernel/sessions/list-messages.ts";
import { presentMessage } from "../present.ts";
import type { Call } from "../route.ts";
import { type UiChunk, UiChunks } from "./chunks.ts";

interface UiMessage {
  id: string;
  role: "user" | "assistant";
  metadata: { task_id: string | null };
  parts: Record<string, unknown>[];
}

/** A chat begins with its end; all of a long session is in the list of messages. */
const messagesMax = 500;

/**
 * The last messages, oldest first; those of the agent that belong together are one. What the open task said since its last answer is left out: the
 * stream gives that.
 */
export async function uiMessages(
  call: Call<unknown, unknown>,
  sessionId: string,
  openTaskId: string | null,
): Promise<UiMessage[]> {
  const found: UiMessage[] = [];
  for (const message of await lastMessages(call.kernel, call.caller, { sessionId, limit: messagesMax })) {
    const shown = await presentMessage(message, call);
    const taskId = message.task_id ?? null;
    if (message.role === "user") {
      found.push({ id: message.id, role: "user", metadata: { task_id: taskId }, parts: partsOf(shown) });
    } else if (message.role === "agent") {
      const last = found.at(-1);
      const isSame = last?.role === "assistant" && last.metadata.task_id === taskId;
      if (isSame) last.parts.push(...partsOf(shown));
      else
        found.push({
          id: message.id,
          role: "assistant",
          metadata: { task_id: taskId },
          parts: partsOf(shown),
        });
    }
  }
  const last = found.at(-1);
  if (last?.role === "assistant" && last.metadata.task_id === openTaskId && openTaskId !== null) found.pop();
  return found;
}

function partsOf(message: Record<string, unknown>): Record<string, unknown>[] {
  return new UiChunks().of({ event: "agent.message", payload: { message } }).flatMap(partOf);
}

function partOf({ type, id, delta, ...rest }: UiChunk): Record<string, unknown>[] {
  if (type === "text-delta") return [{ type: "text", text: delta, state: "done" }];
  if (type === "text-start" || type === "text-end") return [];
  return [{ type, ...(id === undefined ? {} : { id }), ...rest }];
}

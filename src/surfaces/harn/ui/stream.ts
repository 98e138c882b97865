/** The UI message stream of a task: from its beginning or its last answer, until it ends or waits for a person. */

import type { FastifyReply } from "fastify";
import { asRecorded } from "../../../kernel/core/events.ts";
import { findVisible } from "../../../kernel/core/read.ts";
import { followEvents } from "../../../kernel/core/read-events.ts";
import type { TaskRecord } from "../../../kernel/kinds/task.ts";
import { isFinal } from "../../../kernel/tasks/lifecycle.ts";
import type { Position, StoredEvent } from "../../../store/port.ts";
import { SseResponse } from "../../sse.ts";
import { presentEvent } from "../present-event.ts";
import type { Call } from "../route.ts";
import { type UiChunk, UiChunks } from "./chunks.ts";

export interface UiStreamOptions {
  stopped: AbortSignal;
  heartbeatMs: number;
  report(error: unknown, requestId: string): { body: unknown };
}

interface Streamed {
  task: TaskRecord;
  /** What happened up to here the client has already. */
  after: Position;
  /** The message that the chunks are of. */
  messageId: string;
}

/** The header by which the AI SDK knows the stream. */
const streamHeader = ["x-vercel-ai-ui-message-stream", "v1"] as const;

export async function streamUi(
  call: Call<unknown, unknown>,
  { task, after, messageId }: Streamed,
  { stopped, heartbeatMs, report }: UiStreamOptions,
): Promise<FastifyReply> {
  const { kernel, caller, reply } = call;
  const isStillAllowed = kernel.stillAllowed(call.credential);
  reply.header(...streamHeader);
  const response = new SseResponse(reply, { heartbeatMs, stopped, isStillAllowed });
  const send = (chunks: readonly UiChunk[]) =>
    response.write(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
  const chunks = new UiChunks();
  try {
    const metadata = { task_id: task.id, session_id: task.session_id };
    await send([{ type: "start", messageId, messageMetadata: metadata }]);
    for await (const events of await followEvents(kernel, caller, { taskId: task.id }, response.signal)) {
      for (const event of events) {
        if (event.position <= after) continue;
        // The presenter's own shape: an event has a name and a payload.
        const shown = (await presentEvent(event, call)) as {
          event: string;
          payload: Record<string, unknown>;
        };
        const told = chunks.of(shown);
        if (told.length > 0) await send(told);
      }
      const ending = await endingAfter(call, task.id, events);
      if (ending === null) continue;
      await send([...chunks.end(), ...ending]);
      await response.write("data: [DONE]\n\n");
      return reply;
    }
    response.requireAllowed();
  } catch (error) {
    const { body } = report(error, call.request.id);
    const { message = "The stream ended." } = Object(Object(body).error);
    await send([...chunks.end(), { type: "error", errorText: String(message) }]);
  } finally {
    response.end();
  }
  return reply;
}

const restful: ReadonlySet<string> = new Set([
  "task.input_required",
  "tool.approval_required",
  "task.auth_required",
  "task.completed",
  "task.failed",
  "task.canceled",
]);

/** What ends the stream, when the task is at rest after these events. */
async function endingAfter(
  { store, caller }: Call<unknown, unknown>,
  taskId: string,
  events: readonly StoredEvent[],
): Promise<UiChunk[] | null> {
  const last = events.findLast(({ event, resource }) => resource.id === taskId && restful.has(event));
  if (last === undefined) return null;
  const task = await findVisible(store, caller, "task", taskId);
  if (task === undefined || !(isFinal(task.status) || task.pending !== null)) return null;
  // The task is further than these events: what it waits for, or how it ended, comes with later ones.
  const recorded = asRecorded(last);
  if (isFinal(task.status) !== /^task\.(?:completed|failed|canceled)$/.test(recorded.event)) return null;
  const messageMetadata = {
    task_id: task.id,
    session_id: task.session_id,
    status: task.status,
  };
  if (recorded.event === "task.failed")
    return [
      { type: "error", errorText: `${recorded.payload.failure.message} (${recorded.payload.failure.code})` },
    ];
  if (recorded.event === "task.canceled") return [{ type: "abort", reason: "The task was canceled." }];
  return [{ type: "finish", finishReason: "stop", messageMetadata }];
}

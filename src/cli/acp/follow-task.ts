/** A task's events from a cursor to its end, over as many connections as it takes. */

import { errorOf } from "../../sdk/client/errors.ts";
import type { ConnectionFailed } from "../../sdk/client/index.ts";
import { backoffMs } from "../../web/backoff.ts";
import { chunksOf, readEvents } from "../../web/event-stream.ts";
import { pause } from "../../web/pause.ts";
import { isRefusal, type Remote } from "../remote.ts";
import { isEnd, type TaskEvent } from "./events.ts";
import { say } from "./say.ts";

/** How long a server may be away before the prompt fails: time for a restart, not for an outage. */
const awayMsMax = 60_000;
const backoff = { firstMs: 250, mostMs: 2000 };
const eventCharsMax = 32 * 1024 * 1024;

/** Gives up with `ConnectionFailed` when the server stays away; ends quietly when aborted. */
export async function* followTask(
  remote: Remote,
  taskId: string,
  after: string | null,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent> {
  let cursor = after;
  let lastHeardAt = Date.now();
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      for await (const event of connection(remote, taskId, cursor, signal)) {
        cursor = event.id;
        failures = 0;
        lastHeardAt = Date.now();
        yield event;
        if (isEnd(event)) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error) && error.status < 500 && error.status !== 429) throw error;
      if (Date.now() - lastHeardAt > awayMsMax) throw gone(remote, taskId, error);
      if (failures === 0) say(`the stream of ${taskId} broke off and is taken up again`);
    }
    await pause(backoffMs(backoff, failures + 1), signal);
  }
}

/** What happened after a cursor until now. */
export async function* pastEvents(
  remote: Remote,
  taskId: string,
  after: string | null,
): AsyncGenerator<TaskEvent> {
  for (let cursor = after, isMore = true; isMore; ) {
    const query: string = cursor === null ? "" : `&after_event_id=${cursor}`;
    const path = `/v1/tasks/${taskId}/events?limit=200${query}`;
    const { data, page } = await remote.json<{ data: TaskEvent[]; page: { next_cursor: string | null } }>(
      "GET",
      path,
    );
    yield* data;
    cursor = page.next_cursor;
    isMore = cursor !== null;
  }
}

async function* connection(
  remote: Remote,
  taskId: string,
  cursor: string | null,
  signal: AbortSignal,
): AsyncGenerator<TaskEvent> {
  const headers = { Accept: "text/event-stream", ...(cursor === null ? {} : { "Last-Event-ID": cursor }) };
  const body = await remote.stream(`/v1/tasks/${taskId}/stream`, headers, signal);
  for await (const { event, data } of readEvents(chunksOf(body), eventCharsMax)) {
    if (event === "error") {
      const { error }: { error?: { message?: string } } = JSON.parse(data);
      throw new Error(error?.message ?? "The stream ended with an error.");
    }
    // What the server of this protocol version sends has the shape that its document says.
    if (data !== "") yield JSON.parse(data) as TaskEvent;
  }
}

function gone({ url }: Remote, taskId: string, cause: unknown): ConnectionFailed {
  const message = `the server at ${url} has gone away. Task ${taskId} goes on when it is back, and the next prompt shows what came of it.`;
  return errorOf({ code: "connection_failed", message, status: null, requestId: null, cause });
}

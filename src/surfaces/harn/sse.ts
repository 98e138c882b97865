/** The events of a log as server-sent events: one frame an event, under the id that a client can go on from. */

import type { FastifyReply } from "fastify";
import { eventId, findPosition } from "../../kernel/core/events.ts";
import type { StoredEvent } from "../../store/port.ts";
import { SseResponse } from "../sse.ts";
import type { EventStream } from "./event-stream.ts";

const retryMs = 1000;
/** Small frames are written together up to this size; a large one goes alone, so few are in memory at once. */
const writeCharsMin = 16_384;

export async function streamEvents(
  reply: FastifyReply,
  stream: EventStream,
  heartbeatMs: number,
): Promise<void> {
  const { stopped, isStillAllowed } = stream;
  const response = new SseResponse(reply, { heartbeatMs, stopped, isStillAllowed });
  const sent = { last: resumable(stream.after) };
  try {
    for await (const events of await stream.open(response.signal)) {
      if (await sendAll(response, events, stream, sent)) return;
    }
    response.requireAllowed();
  } catch (error) {
    const { body } = stream.report(error);
    // Whoever comes back goes on after what it has.
    await response.write(frame(sent.last, "error", JSON.stringify(body)));
  } finally {
    response.end();
  }
}

/** True when the last event of the stream was among them. */
async function sendAll(
  response: SseResponse,
  events: readonly StoredEvent[],
  stream: EventStream,
  sent: { last: string; isBegun?: true },
): Promise<boolean> {
  let frames = "";
  for (const event of events) {
    const data = JSON.stringify(await stream.present(event));
    sent.last = eventId(event.position);
    // How soon to come back is said with the first event, so that every block is one.
    frames += (sent.isBegun ? "" : `retry: ${retryMs}\n`) + frame(sent.last, event.event, data);
    sent.isBegun = true;
    const last = stream.isLast?.(event) === true;
    if (last || frames.length >= writeCharsMin) {
      await response.write(frames);
      frames = "";
    }
    if (last || response.signal.aborted) return last;
  }
  if (frames !== "") await response.write(frames);
  return false;
}

/** What is no event id is nothing to go on from, and nothing to be repeated. */
function resumable(cursor: string | undefined): string {
  return cursor === undefined || findPosition(cursor) === null ? eventId(0) : cursor;
}

function frame(id: string, event: string, data: string): string {
  return `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;
}

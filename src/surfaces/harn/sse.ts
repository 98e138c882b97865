/** The events of a log as server-sent events: one frame an event, under the id that a client can go on from. */

import type { FastifyReply } from "fastify";
import { eventId } from "../../kernel/core/events.ts";
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
  try {
    await response.write(`retry: ${retryMs}\n\n`);
    for await (const events of await stream.open(response.signal)) {
      if (await sendAll(response, events, stream)) return;
    }
    response.requireAllowed();
  } catch (error) {
    const { body } = stream.report(error);
    await response.write(`event: error\ndata: ${JSON.stringify(body)}\n\n`);
  } finally {
    response.end();
  }
}

/** True when the last event of the stream was among them. */
async function sendAll(
  response: SseResponse,
  events: readonly StoredEvent[],
  stream: EventStream,
): Promise<boolean> {
  let frames = "";
  for (const event of events) {
    const data = JSON.stringify(await stream.present(event));
    frames += `id: ${eventId(event.position)}\nevent: ${event.event}\ndata: ${data}\n\n`;
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

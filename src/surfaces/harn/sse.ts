/**
 * Server-sent events: one frame an event, a heartbeat when nothing happens, and no faster than the client reads. A
 * client that stops reading stops this loop; what it misses waits in the log, not in memory.
 */

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { HarnessError } from "../../kernel/errors.ts";
import { eventId } from "../../kernel/events.ts";
import type { StoredEvent } from "../../store/port.ts";
import type { EventStream } from "./event-stream.ts";

const retryMs = 1000;
/** Small frames are written together up to this size; a large one goes alone, so few are in memory at once. */
const writeCharsMin = 16_384;

export async function streamEvents(
  reply: FastifyReply,
  stream: EventStream,
  heartbeatMs: number,
): Promise<void> {
  const response = reply.raw;
  const gone = new AbortController();
  const refused = { isSo: false };
  response.once("close", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, stream.stopped]);

  reply.hijack();
  reply.headers({
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-store, no-transform",
    "X-Accel-Buffering": "no",
  });
  // What every answer has, this one has too.
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value);
  }
  response.writeHead(200);
  response.write(`retry: ${retryMs}\n\n`);
  const heartbeat = setInterval(async () => {
    response.write(": heartbeat\n\n");
    // A store that cannot answer now says nothing about the credentials; the next beat asks again.
    refused.isSo = !(await stream.isStillAllowed().catch(() => true));
    if (refused.isSo) gone.abort();
  }, heartbeatMs);
  try {
    for await (const events of await stream.open(signal)) {
      if (await sendAll(response, events, stream, signal)) return;
    }
    if (refused.isSo) throw new HarnessError("unauthenticated", "The credentials are no longer valid.");
  } catch (error) {
    const { body } = stream.report(error);
    response.write(`event: error\ndata: ${JSON.stringify(body)}\n\n`);
  } finally {
    clearInterval(heartbeat);
    response.end();
  }
}

/** True when the last event of the stream was among them. */
async function sendAll(
  response: ServerResponse,
  events: readonly StoredEvent[],
  stream: EventStream,
  signal: AbortSignal,
): Promise<boolean> {
  let frames = "";
  for (const event of events) {
    const data = JSON.stringify(await stream.present(event));
    frames += `id: ${eventId(event.position)}\nevent: ${event.event}\ndata: ${data}\n\n`;
    const last = stream.isLast(event);
    if (last || frames.length >= writeCharsMin) {
      if (!response.write(frames)) await drained(response, signal);
      frames = "";
    }
    if (last || signal.aborted) return last;
  }
  if (frames !== "" && !response.write(frames)) await drained(response, signal);
  return false;
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    response.on("drain", done);
    signal.addEventListener("abort", done);
    if (signal.aborted) done();
  });
}

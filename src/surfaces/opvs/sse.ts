/** The events of a stream over HTTP: one object an event, in the envelope of the binding. */

import type { FastifyReply } from "fastify";
import { SseResponse } from "../sse.ts";
import type { WireError } from "./errors.ts";
import type { HttpCall } from "./http.ts";
import type { Opvs } from "./opvs.ts";

/** What is to be told as it happens, in the form of the call's version. */
export interface Events {
  events: AsyncIterable<object>;
  /** Whether the answer begins before the first event is there: what is refused is then an event as well. */
  beginsAtOnce: boolean;
}

export interface SseEnvelope {
  event(response: object): object;
  error(error: WireError): object;
}

export interface StreamSettings {
  heartbeatMs: number;
  stopped: AbortSignal;
}

/** Otherwise the first event is there before the answer begins, so that what is refused is refused as an answer. */
export async function sendStream(
  opvs: Opvs,
  { admitted, gone }: HttpCall,
  { events, beginsAtOnce }: Events,
  reply: FastifyReply,
  envelope: SseEnvelope,
  { heartbeatMs, stopped }: StreamSettings,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  let next = beginsAtOnce ? null : await iterator.next();
  const { isStillAllowed } = admitted;
  const stream = new SseResponse(reply, { heartbeatMs, stopped, isStillAllowed });
  // Whoever makes the events must not wait for the next one when nobody may hear it.
  const leave = () => gone.abort();
  stream.signal.addEventListener("abort", leave);
  try {
    next ??= await iterator.next();
    while (!next.done) {
      await stream.write(`data: ${JSON.stringify(envelope.event(next.value))}\n\n`);
      next = await iterator.next();
    }
    stream.requireAllowed();
  } catch (error) {
    const said = envelope.error(opvs.fail(error, reply.request.id));
    await stream.write(`event: error\ndata: ${JSON.stringify(said)}\n\n`);
  } finally {
    stream.signal.removeEventListener("abort", leave);
    stream.end();
  }
}

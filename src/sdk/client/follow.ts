/**
 * Follows the log of a server: every event once and in order, over as many connections as it takes. Each connection goes
 * on after the last event that was given, which the server knows by its id.
 */

import { backoffMs } from "../../web/backoff.ts";
import { chunksOf, readEvents, type ServerSentEvent } from "../../web/event-stream.ts";
import { pause } from "../../web/pause.ts";
import { unreadable } from "./answers.ts";
import { BridleError, errorIn, errorOf, isPassing, isRecord } from "./errors.ts";
import { retryBackoff } from "./retry.ts";
import type { Transport } from "./transport.ts";
import type { BridleEvent } from "./types.ts";

/** A server gives a sign of life every 15 seconds; three that are missing are a connection that is gone. */
const silenceMsMax = 45_000;
/** Far above what an event holds; a stream that never ends one is none. */
const eventCharsMax = 64 * 1024 * 1024;

export interface FollowOptions {
  /** Begin after this event; from the beginning otherwise. */
  after?: string | undefined;
  signal?: AbortSignal | undefined;
  /** How long nothing at all may arrive before the connection is taken for dead. */
  silenceMs?: number | undefined;
  /** Told when a connection is there, and when it is gone and will be made again. */
  onConnection?: ((isConnected: boolean) => void) | undefined;
}

export interface Followed {
  path: string;
  query?: Record<string, string | undefined>;
  /** Whether the server ends the stream soon after this event. */
  isEnding(event: BridleEvent): boolean;
  /** Whether nothing can follow the event of this id; asked when a connection ended by itself and gave nothing. */
  isOver(lastId: string | undefined): Promise<boolean>;
}

export async function* follow(
  transport: Transport,
  followed: Followed,
  options: FollowOptions,
): AsyncGenerator<BridleEvent, void, undefined> {
  const { signal } = options;
  let lastId = options.after;
  // Failures in a row: an event that arrived makes up for those before it.
  for (let failures = 0; ; failures++) {
    let given = 0;
    let isEnding = false;
    let askedMs = 0;
    try {
      for await (const event of connection(transport, followed, { ...options, after: lastId })) {
        lastId = event.id;
        given += 1;
        yield event;
        isEnding ||= followed.isEnding(event);
      }
      if (isEnding) return;
      if (given === 0 && (await followed.isOver(lastId))) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isPassing(error)) throw error;
      if (error instanceof BridleError) askedMs = error.retryAfterMs ?? 0;
    }
    options.onConnection?.(false);
    if (given > 0) failures = 0;
    await pause(Math.max(askedMs, backoffMs(retryBackoff, failures + 1)), signal);
    signal?.throwIfAborted();
  }
}

/** The events of one connection, until it ends or falls silent. */
async function* connection(
  transport: Transport,
  { path, query = {} }: Followed,
  { after, signal, silenceMs = silenceMsMax, onConnection }: FollowOptions,
): AsyncGenerator<BridleEvent> {
  const silence = new AbortController();
  const patience = () => setTimeout(() => silence.abort(), silenceMs);
  let timer = patience();
  const onSign = () => {
    clearTimeout(timer);
    timer = patience();
  };
  const either = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
  try {
    const headers = {
      Accept: "text/event-stream",
      ...(after === undefined ? {} : { "Last-Event-ID": after }),
    };
    const response = await transport.open(path, { query, headers, signal: either });
    if (response.body === null) throw unreadable("a stream of events", response);
    onConnection?.(true);
    for await (const frame of readEvents(chunksOf(response.body, onSign), eventCharsMax)) {
      if (frame.data === "") continue;
      // While whoever reads is busy with an event, nothing is read, and silence is not the server's.
      clearTimeout(timer);
      yield eventIn(frame);
      timer = patience();
    }
  } catch (error) {
    throw broken(error, signal);
  } finally {
    clearTimeout(timer);
  }
}

function broken(error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof BridleError) return error;
  const message = "The stream of events was cut off.";
  return errorOf({ code: "connection_failed", message, status: null, requestId: null, cause: error });
}

function eventIn({ id, event, data }: ServerSentEvent): BridleEvent {
  const value = parsed(data);
  // What goes wrong on the server's side of an open stream is said in it, under the id of the last event.
  const error = event === "error" ? errorIn(value, null, null) : null;
  if (error !== null) throw error;
  if (id !== null && isEvent(value) && value.id === id) return value;
  throw unreadable("a stream of events");
}

/** By what every event has; the rest of it the server makes from the schema of this type. */
export function isEvent(value: unknown): value is BridleEvent {
  if (!isRecord(value) || !isRecord(value.resource) || !isRecord(value.payload)) return false;
  return value.object === "event" && typeof value.id === "string" && typeof value.event === "string";
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}

/**
 * A session over WebSockets: its events as they happen, commands to it, and a host for its tasks. It outlives its connections.
 *
 * Invariants
 *   L1  Every event after the first cursor is given once and in order: a connection goes on after the last event that was taken.
 *   L2  What is not read is not kept without end: beyond a bound the events stay in the log, and a connection is there only for commands and
 *       for being a host, until the reader has caught up.
 *   L3  A command is done once: it is sent again, under the same key, until it is answered.
 */

import { backoffMs } from "../../../web/backoff.ts";
import { pause } from "../../../web/pause.ts";
import { BridleError, errorIn, errorOf, isPassing, ServerError } from "../errors.ts";
import { isEvent } from "../follow.ts";
import { inputOf, messageOf, personaOf, type Said } from "../messages.ts";
import { retryBackoff } from "../retry.ts";
import type { Transport } from "../transport.ts";
import type { BridleEvent, Message, MessageInput, PermissionRequest, Task, WriteOptions } from "../types.ts";
import { Commands } from "./commands.ts";
import { Connection } from "./connection.ts";
import { EventBuffer } from "./event-buffer.ts";
import { Hosting } from "./hosting.ts";
import type { ConnectSession, LiveSession, SayOptions } from "./live-session.ts";
import { Questions } from "./questions.ts";

const silenceMsMax = 45_000;
const steadyMs = 5_000;
/** Until it has begun, somebody waits for it: then it is given up after so many. */
const firstAttemptsMax = 3;

/** Whether a connection brings the events that the reader is to get: no longer, once one of them was not taken. */
interface Feed {
  isOn: boolean;
}

/** Resolves when the session is there and listens. */
export async function connectSession(
  transport: Transport,
  id: string,
  options: ConnectSession,
): Promise<LiveSession> {
  options.signal?.throwIfAborted();
  const live = new Live(transport, id, options);
  await live.begun;
  return live;
}

class Live implements LiveSession {
  readonly id: string;
  readonly #transport: Transport;
  readonly #silenceMs: number;
  readonly #over = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #events: EventBuffer;
  readonly #commands: Commands;
  readonly #hosting: Hosting;
  readonly #questions: Questions;
  #connection: Connection | null = null;
  #feed: Feed = { isOn: false };
  #hasBegun = false;
  #changed = Promise.withResolvers<void>();
  #isRead = false;

  constructor(transport: Transport, id: string, options: ConnectSession) {
    const { after = null, host = {}, onQuestion, signal, silenceMs = silenceMsMax } = options;
    this.id = id;
    this.#transport = transport;
    this.#silenceMs = silenceMs;
    this.#events = new EventBuffer(after, () => this.#reconsider());
    this.#commands = new Commands(() => this.#reconsider());
    this.#hosting = new Hosting(host, this.#commands, this.#over.signal);
    this.#questions = new Questions(onQuestion);
    const abort = () => this.#end(signal?.reason, true);
    signal?.addEventListener("abort", abort, { once: true });
    this.#over.signal.addEventListener("abort", () => signal?.removeEventListener("abort", abort));
    void this.#keepConnected();
  }

  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  get cursor(): string | null {
    return this.#events.given;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<BridleEvent, void, undefined> {
    if (this.#isRead) throw new TypeError("The session is being read already");
    this.#isRead = true;
    try {
      for (let event = await this.#events.next(); event !== null; event = await this.#events.next())
        yield event;
    } finally {
      this.#isRead = false;
    }
  }

  say(said: Said, { personaId, agent, metadata, ...options }: SayOptions = {}): Promise<Task> {
    const persona_id = personaId ?? (agent === undefined ? undefined : personaOf(agent));
    return this.#submit<Task>("task.submit", "task", { input: inputOf(said), persona_id, metadata }, options);
  }

  append(message: MessageInput, options?: WriteOptions): Promise<Message> {
    return this.#submit<Message>("message.append", "message", { message }, options);
  }

  answer(taskId: string, answer: unknown, options?: WriteOptions): Promise<Message> {
    const body = { task_id: taskId, message: messageOf(answer) };
    return this.#submit<Message>("input.submit", "message", body, options);
  }

  respond(
    requestId: string,
    { approved, reason }: { approved: boolean; reason?: string },
    options?: WriteOptions,
  ): Promise<PermissionRequest> {
    const body = { request_id: requestId, decision: approved ? "approved" : "denied", note: reason };
    return this.#submit<PermissionRequest>("approval.respond", "permission_request", body, options);
  }

  cancel(taskId: string, { reason, ...options }: WriteOptions & { reason?: string } = {}): Promise<Task> {
    return this.#submit<Task>("task.cancel", "task", { task_id: taskId, reason }, options);
  }

  async close(): Promise<void> {
    this.#end(null, true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #submit<T>(type: string, kind: string, body: object, options?: WriteOptions): Promise<T> {
    if (this.#over.signal.aborted) throw this.#over.signal.reason;
    return await this.#commands.submit<T>(type, kind, body, options);
  }

  /** `failure` is null when the caller wanted it to end. */
  #end(failure: unknown, isAtOnce: boolean): void {
    if (this.#over.signal.aborted) return;
    const reason = failure ?? closedError();
    this.#over.abort(reason);
    this.#events.end(failure, isAtOnce);
    this.#commands.abandon(reason);
    this.#begun.reject(reason);
    this.#begun.promise.catch(() => {});
    this.#reconsider();
  }

  async #keepConnected(): Promise<void> {
    // Failures in a row: a connection that lasted makes up for those before it.
    for (let failures = 0; !this.#over.signal.aborted; failures++) {
      let askedMs = 0;
      try {
        await this.#untilWanted();
        const beganAt = performance.now();
        const isIntended = await this.#connectOnce();
        if (performance.now() - beganAt > steadyMs) failures = 0;
        if (isIntended) continue;
      } catch (error) {
        if (this.#over.signal.aborted) return;
        if (isLasting(error) || (!this.#hasBegun && failures + 1 >= firstAttemptsMax))
          return this.#end(error, false);
        if (error instanceof BridleError) askedMs = error.retryAfterMs ?? 0;
      }
      await pause(Math.max(askedMs, backoffMs(retryBackoff, failures + 1)), this.#over.signal);
    }
  }

  /** From its beginning to its end; true when it was ended here, for another one. */
  async #connectOnce(): Promise<boolean> {
    const feed: Feed = { isOn: !this.#events.isBehind };
    this.#feed = feed;
    const connection = await Connection.open(this.#transport, {
      sessionId: this.id,
      cursor: feed.isOn ? this.#events.taken : null,
      capabilities: this.#hosting.capabilities,
      silenceMs: this.#silenceMs,
      signal: this.#over.signal,
      onFrame: (frame, chars) => this.#take(frame, chars, feed),
    });
    this.#connection = connection;
    if (feed.isOn && connection.cursor !== null) this.#events.beginAfter(connection.cursor);
    this.#hasBegun = true;
    this.#begun.resolve();
    this.#commands.connected((text) => connection.send(text));
    this.#reconsider();
    const { code, error, isOurs } = await connection.ended;
    this.#connection = null;
    this.#commands.disconnected(code);
    if (error !== null && isLasting(error)) throw error;
    return isOurs;
  }

  #take(frame: Record<string, unknown>, chars: number, feed: Feed): void {
    switch (frame.type) {
      case "event":
        if (feed.isOn && isEvent(frame.event)) this.#events.take(frame.event, chars);
        return;
      case "request":
        if (frame.kind === "host_tool") void this.#hosting.offered(frame);
        else this.#questions.asked(frame);
        return;
      case "ack":
        this.#commands.acknowledged(frame.id, frame.result);
        return;
      case "error": {
        const error = errorIn(frame, null, null);
        if (error !== null) this.#commands.refused(frame.id, error);
      }
    }
  }

  /** Whether there is anything to have a connection for (L2). */
  get #isWanted(): boolean {
    const isListening = this.#hosting.capabilities.length > 0 || this.#questions.areHeard;
    return !this.#events.isBehind || isListening || this.#commands.size > 0;
  }

  async #untilWanted(): Promise<void> {
    while (!this.#isWanted && !this.#over.signal.aborted) await this.#changed.promise;
  }

  /** Something has changed: the connection may be no longer wanted, or another one is. */
  #reconsider(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
    // What comes after an event that was not taken is not taken on this connection any more (L1).
    if (this.#events.isBehind) this.#feed.isOn = false;
    const isCaughtUp = !this.#feed.isOn && !this.#events.isBehind;
    if (!this.#isWanted || isCaughtUp) this.#connection?.leave();
  }
}

/** Whether trying again would not help. What went wrong inside the server may go well the next time. */
function isLasting(error: unknown): boolean {
  return !isPassing(error) && !(error instanceof ServerError);
}

function closedError(): BridleError {
  const message = "The session was closed here. Whether what was not answered yet is done is not known.";
  return errorOf({ code: "connection_failed", message, status: null, requestId: null });
}

/** What a live session is to those who use it. */

import type { Said } from "../messages.ts";
import type { BridleEvent, Message, MessageInput, PermissionRequest, Task, WriteOptions } from "../types.ts";
import type { HostHandler } from "./hosting.ts";
import type { Question } from "./questions.ts";

export interface ConnectSession {
  /** Begin after this event; with what happens from now on otherwise. */
  after?: string;
  /** What tasks of the session can have done here, by capability: `{ "clipboard.read": async (input) => … }`. */
  host?: Record<string, HostHandler>;
  /** Called for every question to a person, those that are open already first, each once. */
  onQuestion?: (question: Question) => void;
  /** Ends all of it. */
  signal?: AbortSignal;
  /** How long nothing at all may arrive before a connection is taken for dead. */
  silenceMs?: number;
}

export interface SayOptions extends WriteOptions {
  personaId?: string;
  /** An agent by its name, as the persona that came with it. */
  agent?: string;
  metadata?: Record<string, unknown>;
}

/** Read it with `for await`: by one reader at a time. Who leaves the loop can come back and goes on after the last event. */
export interface LiveSession extends AsyncIterable<BridleEvent>, AsyncDisposable {
  readonly id: string;
  /** The last event that was read: give it as `after` to go on elsewhere. */
  readonly cursor: string | null;
  /** Gives the session's agent, or another one, a task. */
  say(said: Said, options?: SayOptions): Promise<Task>;
  /** Adds to the transcript, on behalf of no task. */
  append(message: MessageInput, options?: WriteOptions): Promise<Message>;
  /** What a task asked for. Text is sent as text, anything else as JSON. */
  answer(taskId: string, answer: unknown, options?: WriteOptions): Promise<Message>;
  respond(
    requestId: string,
    response: { approved: boolean; reason?: string },
    options?: WriteOptions,
  ): Promise<PermissionRequest>;
  cancel(taskId: string, options?: WriteOptions & { reason?: string }): Promise<Task>;
  close(): Promise<void>;
}

/** RunningStep what tasks of the session ask their host for, each call once, however often it is offered. */

import { isRecord } from "../errors.ts";
import type { Commands } from "./commands.ts";

export interface HostCall {
  callId: string;
  capability: string;
  taskId: string;
  expiresAt: string;
  /** Aborted when the call has expired or the session is closed. */
  signal: AbortSignal;
}

/** What it gives is the result, as JSON; what it throws fails the step of the agent, with the error's `code` if that is text. */
export type HostHandler = (input: unknown, call: HostCall) => unknown;

const messageCharsMax = 2000;
const codeCharsMax = 100;
/** Timers cannot run longer. */
const timerMsMax = 2 ** 31 - 1;

export class Hosting {
  readonly #handlers: ReadonlyMap<string, HostHandler>;
  readonly #commands: Commands;
  readonly #closed: AbortSignal;
  /** Calls that are being done, or whose results are on their way. */
  readonly #open = new Set<string>();

  constructor(handlers: Record<string, HostHandler>, commands: Commands, closed: AbortSignal) {
    this.#handlers = new Map(Object.entries(handlers));
    this.#commands = commands;
    this.#closed = closed;
  }

  get capabilities(): string[] {
    return [...this.#handlers.keys()];
  }

  async offered(frame: Record<string, unknown>): Promise<void> {
    const { call_id: callId, capability, task_id: taskId, expires_at: expiresAt, input } = frame;
    if (typeof callId !== "string" || typeof capability !== "string" || this.#open.has(callId)) return;
    const handler = this.#handlers.get(capability);
    if (handler === undefined) return;
    this.#open.add(callId);
    const call = { callId, capability, taskId: String(taskId), expiresAt: String(expiresAt) };
    const result = await this.#attempt(handler, input ?? null, call);
    // Another host may have been faster, or the task is over: then nobody waits for the result.
    await this.#commands.submit("host.result", null, { call_id: callId, ...result }).catch(() => {});
    this.#open.delete(callId);
  }

  async #attempt(handler: HostHandler, input: unknown, call: Omit<HostCall, "signal">): Promise<object> {
    const leftMs = Math.min(Math.max(0, Date.parse(call.expiresAt) - Date.now()), timerMsMax);
    const signal = AbortSignal.any([this.#closed, AbortSignal.timeout(leftMs || 0)]);
    try {
      const output = await handler(input, { ...call, signal });
      return { output: output === undefined ? null : JSON.parse(JSON.stringify(output)) };
    } catch (error) {
      return { error: errorFrom(error) };
    }
  }
}

function errorFrom(error: unknown): { message: string; code?: string } {
  const text = error instanceof Error ? error.message : String(error);
  const message = text.slice(0, messageCharsMax) || "The host failed.";
  const code = isRecord(error) ? error.code : undefined;
  return typeof code === "string" && code !== "" && code.length <= codeCharsMax
    ? { message, code }
    : { message };
}

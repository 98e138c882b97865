/**
 * Commands to a session. Each has a key of its own that the server knows it by, so one whose answer got lost with a connection is sent
 * again over the next, and done once.
 */

import { backoffMs } from "../../../web/backoff.ts";
import { unreadable } from "../answers.ts";
import { type BridleError, errorOf, isPassing, isRecord } from "../errors.ts";
import { retryBackoff } from "../retry.ts";
import type { WriteOptions } from "../types.ts";

/** More than this are not waiting for an answer but for a server. */
const pendingMax = 256;
/** How often the server may refuse a command for now. */
const refusalsMax = 5;

interface Pending {
  text: string;
  kind: string | null;
  refusals: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export class Commands {
  readonly #pending = new Map<string, Pending>();
  readonly #onChange: () => void;
  #send: ((text: string) => void) | null = null;
  #count = 0;

  /** `onChange` is called when there are more commands, or none any more. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** What the server answers with: a resource of this kind, or anything if that is null. */
  async submit<T>(
    type: string,
    kind: string | null,
    body: object,
    { idempotencyKey = crypto.randomUUID(), signal }: WriteOptions = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    if (this.#pending.size >= pendingMax) throw tooMany();
    this.#count += 1;
    const id = `c${this.#count}`;
    const text = JSON.stringify({ type, id, idempotency_key: idempotencyKey, ...body });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { text, kind, refusals: 0, resolve, reject });
    const abort = () => this.#settle(id)?.reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    this.#send?.(text);
    this.#onChange();
    try {
      // Its kind was compared; a server that says this kind of itself gives all of it.
      return (await promise) as T;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /** Those without an answer are sent again, in the order in which they were given. */
  connected(send: (text: string) => void): void {
    this.#send = send;
    for (const { text } of this.#pending.values()) send(text);
  }

  /** A frame that the server would not read (1009) must not be sent forever: it was the largest. */
  disconnected(code: number): void {
    this.#send = null;
    if (code !== 1009) return;
    const [largest] = [...this.#pending].sort(([, a], [, b]) => b.text.length - a.text.length);
    if (largest === undefined) return;
    const message = "The command is larger than the server takes.";
    const error = errorOf({ code: "payload_too_large", message, status: null, requestId: null });
    this.#settle(largest[0])?.reject(error);
  }

  acknowledged(id: unknown, result: unknown): void {
    const pending = this.#settle(id);
    if (pending === undefined) return;
    const { kind } = pending;
    if (kind === null || (isRecord(result) && result.object === kind)) pending.resolve(result);
    else pending.reject(unreadable(`a ${kind}`));
  }

  /** What is refused for now was not done, and is asked for again a little later. */
  refused(id: unknown, error: BridleError): void {
    const pending = typeof id === "string" ? this.#pending.get(id) : undefined;
    if (pending === undefined) return;
    pending.refusals += 1;
    if (!isPassing(error) || pending.refusals > refusalsMax) {
      this.#settle(id)?.reject(error);
      return;
    }
    setTimeout(
      () => {
        if (this.#pending.get(String(id)) === pending) this.#send?.(pending.text);
      },
      backoffMs(retryBackoff, pending.refusals),
    );
  }

  /** Nothing is sent any more. */
  abandon(error: unknown): void {
    this.#send = null;
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(error);
  }

  #settle(id: unknown): Pending | undefined {
    const pending = typeof id === "string" ? this.#pending.get(id) : undefined;
    if (pending === undefined) return undefined;
    this.#pending.delete(String(id));
    if (this.#pending.size === 0) this.#onChange();
    return pending;
  }
}

function tooMany(): BridleError {
  const message = `${pendingMax} commands wait for an answer already.`;
  return errorOf({ code: "rate_limited", message, status: null, requestId: null });
}

/**
 * A response of server-sent events: a heartbeat when nothing happens, and no faster than the client reads. Whoever writes
 * to a client that stopped reading waits; what it misses is in the log, not in memory.
 */

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { StillAllowed } from "../kernel/access/still-allowed.ts";
import { HarnessError } from "../kernel/core/errors.ts";
import { nextFrame } from "../slices.ts";

export interface SseOptions {
  heartbeatMs: number;
  /** The sign of life; a comment, which nobody sees, when nothing else is said. */
  heartbeat?: string;
  /** Aborted when the server stops. */
  stopped: AbortSignal;
  /** Whether the credentials that it was opened with still hold. Asked with every heartbeat, and when a key ends. */
  isStillAllowed: StillAllowed;
}

export class SseResponse {
  readonly #response: ServerResponse;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #gone = new AbortController();
  #isRefused = false;
  /** Aborted when the client is gone, may no longer listen, or the server stops. */
  readonly signal: AbortSignal;

  constructor(reply: FastifyReply, options: SseOptions) {
    const { heartbeatMs, heartbeat = ": heartbeat\n\n", stopped, isStillAllowed } = options;
    const response = reply.raw;
    this.#response = response;
    response.once("close", () => this.#gone.abort());
    // Whoever left before there was anything to say is not told again.
    if (response.destroyed) this.#gone.abort();
    this.signal = AbortSignal.any([this.#gone.signal, stopped]);
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
    // Whoever asked is told that the stream is open, however long nothing happens.
    response.flushHeaders();
    this.#heartbeat = setInterval(async () => {
      // Who does not read is not sent ever more signs of life.
      if (!response.writableNeedDrain) response.write(heartbeat);
      await check();
    }, heartbeatMs);
    const check = async () => {
      // A store that cannot answer now says nothing about the credentials; the next beat asks again.
      this.#isRefused = !(await isStillAllowed().catch(() => true));
      if (this.#isRefused) this.#gone.abort();
    };
    const unwatch = isStillAllowed.watch(() => void check());
    response.once("close", unwatch);
  }

  /** Resolves when there is room for more. */
  async write(frames: string): Promise<void> {
    if (!this.#response.write(frames)) await this.#drained();
    await nextFrame();
  }

  /** Throws if it is the credentials that ended the stream. */
  requireAllowed(): void {
    if (this.#isRefused) throw new HarnessError("unauthenticated", "The credentials are no longer valid.");
  }

  end(): void {
    clearInterval(this.#heartbeat);
    this.#response.end();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#response.off("drain", done);
        this.signal.removeEventListener("abort", done);
        resolve();
      };
      this.#response.on("drain", done);
      this.signal.addEventListener("abort", done);
      if (this.signal.aborted) done();
    });
  }
}

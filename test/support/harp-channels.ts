/** A gateway's channels for tests, over SSE and WebSocket alike: envelopes as they come, each one checked, in order. */

import assert from "node:assert/strict";
import { WebSocket } from "ws";
import type { Json } from "./client.ts";
import type { Party } from "./harp.ts";
import { assertEnvelope } from "./harp-schemas.ts";
import { TestSocket } from "./socket.ts";

const patienceMs = 60_000;

/** What both kinds have in common: who waits for a message gets it, or is told that it never came. */
export class Channel implements AsyncDisposable {
  /** Every envelope that came, from the first. */
  readonly seen: Json[] = [];
  readonly closed: Promise<void>;
  readonly #hangUp: () => void;
  readonly #arrived: Json[] = [];
  #problem: unknown = null;
  #isOver = false;
  #wakes: (() => void)[] = [];

  constructor(hangUp: () => void, closed: Promise<unknown>) {
    this.#hangUp = hangUp;
    this.closed = closed.then(() => {
      this.#isOver = true;
      this.#wake();
    });
  }

  take(envelope: Json): void {
    try {
      assertEnvelope(envelope);
    } catch (error) {
      this.#problem ??= error;
    }
    this.seen.push(envelope);
    this.#arrived.push(envelope);
    this.#wake();
  }

  #wake(): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    for (const wake of wakes) wake();
  }

  /** The next envelope of a type, or for which something holds. Others stay for those who want them. */
  async until(wanted: string | ((envelope: Json) => boolean)): Promise<Json> {
    const holds = typeof wanted === "string" ? (envelope: Json) => envelope.msgType === wanted : wanted;
    const deadline = Date.now() + patienceMs;
    while (true) {
      if (this.#problem !== null) throw this.#problem;
      const at = this.#arrived.findIndex(holds);
      if (at !== -1) return this.#arrived.splice(at, 1)[0];
      const soFar = JSON.stringify(this.seen).slice(0, 2000);
      assert.ok(!this.#isOver, `the channel is closed; so far: ${soFar}`);
      const left = deadline - Date.now();
      assert.ok(left > 0, `it never came; so far: ${soFar}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wakes.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** The envelope of a type that is about a request. */
  async about(requestId: string, msgType?: string): Promise<Json> {
    return await this.until(
      (envelope) =>
        envelope.requestId === requestId && (msgType === undefined || envelope.msgType === msgType),
    );
  }

  /** How many came about a request. */
  countOf(requestId: string, msgType?: string): number {
    return this.seen.filter(
      (envelope) =>
        envelope.requestId === requestId && (msgType === undefined || envelope.msgType === msgType),
    ).length;
  }

  async close(): Promise<void> {
    this.#hangUp();
    await this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    if (this.#problem !== null) throw this.#problem;
  }
}

/** One event as it was on the wire. */
export interface WireEvent {
  id: string | null;
  event: string | null;
  /** Each `data` line. */
  data: string[];
}

export class SseChannel extends Channel {
  /** Everything, keep-alives too, as it was on the wire. */
  readonly events: WireEvent[] = [];
  readonly headers: Headers;

  constructor(response: Response, controller: AbortController) {
    const over = Promise.withResolvers<void>();
    super(() => controller.abort(), over.promise);
    this.headers = response.headers;
    this.#read(response).finally(() => over.resolve());
  }

  async #read(response: Response): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of response.body ?? []) {
        text += decoder.decode(chunk, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) this.#takeBlock(block);
      }
    } catch (error) {
      // A connection that was cut ends the stream; what had arrived whole was given.
      if (!(error instanceof Error)) throw error;
    }
  }

  #takeBlock(block: string): void {
    const event: WireEvent = { id: null, event: null, data: [] };
    for (const line of block.split("\n")) {
      const [, field, value = ""] = /^(id|event|data):? ?(.*)$/s.exec(line) ?? [];
      if (field === "data") event.data.push(value);
      else if (field === "id" || field === "event") event[field] = value;
    }
    if (event.event === null && event.data.length === 0) return;
    this.events.push(event);
    if (event.event !== "ping") this.take(JSON.parse(event.data.join("\n")));
  }
}

export function ssePath({ role, id }: Pick<Party, "role" | "id">): string {
  return `/v1/sse/${role}s/${encodeURIComponent(id)}`;
}

export async function openSse(party: Party, headers: Record<string, string> = {}): Promise<SseChannel> {
  const controller = new AbortController();
  const response = await fetch(party.gateway.base + ssePath(party), {
    headers: { authorization: `Bearer ${party.key}`, accept: "text/event-stream", ...headers },
    signal: controller.signal,
  });
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream(;|$)/);
  return new SseChannel(response, controller);
}

export class WsChannel extends Channel {
  readonly socket: TestSocket;

  constructor(socket: TestSocket) {
    super(() => socket.socket.close(), socket.closed);
    this.socket = socket;
    socket.socket.on("message", (data) => this.take(JSON.parse(String(data))));
  }

  send(frame: object | string): void {
    this.socket.send(frame);
  }

  /** Sends an envelope and gives its reply, which names it. */
  async ask(envelope: Json): Promise<Json> {
    asked += 1;
    const msgId = envelope.msgId ?? `ask-${asked}`;
    this.send({ ...envelope, msgId });
    return await this.until((reply) => reply.trace?.inReplyTo === msgId);
  }
}

let asked = 0;

export function wsPath({ role, id }: Pick<Party, "role" | "id">): string {
  return `/v1/ws?role=${role}&id=${encodeURIComponent(id)}`;
}

export async function openWs(party: Party, path = wsPath(party)): Promise<WsChannel> {
  const socket = new WebSocket(party.gateway.base.replace(/^http/, "ws") + path, {
    headers: { authorization: `Bearer ${party.key}` },
  });
  const channel = new WsChannel(new TestSocket(socket));
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return channel;
}

/** A WebSocket client for tests: frames as they come, in order, and how the connection ended. */

import assert from "node:assert/strict";
import { WebSocket } from "ws";
import type { Client, Json } from "./client.ts";

const patienceMs = 60_000;

export interface Closed {
  code: number;
  reason: string;
}

export interface SocketOptions {
  headers?: Record<string, string>;
  protocols?: string[];
  /** Whether the key goes along as a header; it does when nothing is said. */
  withKey?: boolean;
}

export class TestSocket implements AsyncDisposable {
  readonly socket: WebSocket;
  readonly closed: Promise<Closed>;
  /** Every frame that came, from the first. */
  readonly seen: Json[] = [];
  readonly #arrived: Json[] = [];
  #wakes: (() => void)[] = [];
  #isOver = false;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data));
      this.seen.push(frame);
      this.#arrived.push(frame);
      this.#wake();
    });
    this.closed = new Promise((resolve) =>
      socket.on("close", (code, reason) => {
        this.#isOver = true;
        this.#wake();
        resolve({ code, reason: String(reason) });
      }),
    );
    socket.on("error", () => {});
  }

  #wake(): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    for (const wake of wakes) wake();
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** The next frame that nobody has taken. */
  async next(): Promise<Json> {
    return await this.until(() => true);
  }

  /** The next frame of a type, or for which something holds. Others stay for those who want them. */
  async until(wanted: string | ((frame: Json) => boolean)): Promise<Json> {
    const holds = typeof wanted === "string" ? (frame: Json) => frame.type === wanted : wanted;
    const deadline = Date.now() + patienceMs;
    while (true) {
      const at = this.#arrived.findIndex(holds);
      if (at !== -1) return this.#arrived.splice(at, 1)[0];
      assert.ok(!this.#isOver, "the connection is over");
      const left = deadline - Date.now();
      assert.ok(left > 0, `it never came; so far: ${JSON.stringify(this.seen).slice(0, 2000)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wakes.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Sends a frame and gives its answer: `ack`, `error`, `ready` or `pong` with the same id. */
  async ask(frame: object): Promise<Json> {
    const id = `ask-${++asked}`;
    this.send({ id, ...frame });
    return await this.until((answer) => answer.id === id);
  }

  /** The result of a command that is carried out. */
  async command(frame: object): Promise<Json> {
    const answer = await this.ask(frame);
    assert.equal(answer.type, "ack", JSON.stringify(answer));
    return answer.result;
  }

  /** The error of a frame that is refused. */
  async refusal(frame: object): Promise<Json> {
    const answer = await this.ask(frame);
    assert.equal(answer.type, "error", JSON.stringify(answer));
    assert.match(answer.error.request_id, /^req_/);
    return answer.error;
  }

  get events(): Json[] {
    return this.seen.filter(({ type }) => type === "event");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
  }
}

let asked = 0;

function connect(client: Client, path: string, options: SocketOptions): WebSocket {
  const { headers = {}, protocols = [], withKey = true } = options;
  return new WebSocket(client.url.replace(/^http/, "ws") + path, protocols, {
    headers: { ...(withKey ? { authorization: `Bearer ${client.key}` } : {}), ...headers },
  });
}

export async function openSocket(
  client: Client,
  path: string,
  options: SocketOptions = {},
): Promise<TestSocket> {
  const socket = connect(client, path, options);
  const opened = new TestSocket(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  return opened;
}

/** An upgrade that must be refused: the answer, as any other. */
export async function refusedUpgrade(
  client: Client,
  path: string,
  options: SocketOptions = {},
): Promise<{ status: number; headers: Headers; body: Json }> {
  const socket = connect(client, path, options);
  return await new Promise((resolve, reject) => {
    socket.on("open", () => reject(new Error("the upgrade was accepted")));
    socket.on("error", reject);
    socket.on("unexpected-response", (_request, response) => {
      response.setEncoding("utf8");
      response.toArray().then((chunks) => {
        const headers = new Headers(
          Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
        );
        resolve({ status: response.statusCode ?? 0, headers, body: JSON.parse(chunks.join("")) });
      }, reject);
    });
  });
}

/** A session's WebSocket, with hello said and `ready` received. */
export async function openSession(
  client: Client,
  sessionId: string,
  hello: object = {},
): Promise<TestSocket> {
  const socket = await openSocket(client, `/v1/sessions/${sessionId}/ws`);
  const answer = await socket.ask({ type: "hello", ...hello });
  assert.equal(answer.type, "ready", JSON.stringify(answer));
  return socket;
}

/**
 * A server that answers like the providers of models do, as a script says: Anthropic messages, OpenAI responses, chat
 * completions, Google generateContent; whole or as a stream, whichever is asked for. The path says which one is meant,
 * so that one server stands for all of them.
 *
 *   await using server = await new ModelServer().start();
 *   server.reply({ text: "Hello." }, { fault: { status: 503 } }, { chunks: ["a", "b"], holdAfterChunks: 1 });
 */

import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "../../src/store/port.ts";
import { responses } from "./model-dialect-responses.ts";
import {
  anthropic,
  chat,
  type Dialect,
  type Frame,
  google,
  type ScriptedAnswer,
  told,
} from "./model-dialects.ts";

/**
 *   cut         the answer stops before it is complete: a stream ends in order, a whole answer with its connection
 *   malformed   something that is no JSON, after the chunks
 *   hang        nothing more comes; in a stream after the chunks
 *   reset       the connection is reset; in a stream after the chunks
 *   overloaded  the provider's own error, in the middle of a stream after the chunks; else status 529
 */
export type Fault =
  | { status: number; headers?: Record<string, string>; body?: string }
  | "cut"
  | "malformed"
  | "hang"
  | "reset"
  | "overloaded";

export interface Reply extends ScriptedAnswer {
  fault?: Fault;
  chunkDelayMs?: number;
  /** Waits for `release()` when so many chunks are sent; before everything if the answer is not streamed. */
  holdAfterChunks?: number;
}

export interface RecordedRequest {
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: JsonObject;
  isStreamed: boolean;
  /** Resolves to whether the client left before the answer was complete. */
  isLeft: Promise<boolean>;
}

/** A reply, or what makes one of a request. */
export type Script = Reply | ((request: RecordedRequest) => Reply);

const dialects: readonly (readonly [RegExp, Dialect])[] = [
  [/\/messages$/, anthropic],
  [/\/responses$/, responses],
  [/\/chat\/completions$/, chat],
  [/:(?:generateContent|streamGenerateContent)$/, google],
];

export class ModelServer implements AsyncDisposable {
  /** All that came in, in order. */
  readonly requests: RecordedRequest[] = [];
  readonly #script: Script[] = [];
  #always: Script = { fault: { status: 400, body: '{"error":{"message":"The script has no reply left."}}' } };
  readonly #events = new EventEmitter().setMaxListeners(0);
  readonly #server = createServer((request, response) => {
    // Who is gone needs no answer.
    this.#answer(request, response).catch(() => response.destroy());
  });
  #held = 0;

  async start(port = 0): Promise<this> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** Where it is. Base URLs are `<url>/v1`, for Google `<url>/v1beta`. */
  get url(): string {
    // Listening on a port, it has an address of this type.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** For the next calls, one each. */
  reply(...script: Script[]): void {
    this.#script.push(...script);
  }

  /** For all calls that nothing else is said for. */
  always(script: Script): void {
    this.#always = script;
  }

  /** When that many requests have come in. */
  async called(times: number): Promise<void> {
    while (this.requests.length < times) await once(this.#events, "request");
  }

  /** When a reply is held. */
  async held(): Promise<void> {
    while (this.#held === 0) await once(this.#events, "held");
  }

  /** Lets all that are held go on. */
  release(): void {
    this.#events.emit("release");
  }

  async stop(): Promise<void> {
    this.release();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await recorded(incoming, response);
    this.requests.push(request);
    const next = this.#script.shift() ?? this.#always;
    this.#events.emit("request");
    const { pathname } = new URL(request.path, this.url);
    const dialect = dialects.find(([pattern]) => pattern.test(pathname))?.[1];
    if (dialect === undefined) return sendFault(response, chat, { status: 404 });
    const reply = typeof next === "function" ? next(request) : next;
    if (typeof reply.fault === "object") return sendFault(response, dialect, reply.fault);
    if (request.isStreamed) await this.#stream(response, dialect, reply, modelOf(request));
    else await this.#whole(response, dialect, reply, modelOf(request));
  }

  async #whole(response: ServerResponse, dialect: Dialect, reply: Reply, model: string): Promise<void> {
    if (reply.holdAfterChunks !== undefined) await this.#hold(response);
    const body = JSON.stringify(dialect.plain(told(reply, model)));
    const begin = (length: number) =>
      response.writeHead(200, { "content-type": "application/json", "content-length": length });
    switch (reply.fault) {
      case "hang":
        return;
      case "reset":
        response.socket?.resetAndDestroy();
        return;
      case "overloaded":
        return sendFault(response, dialect, { status: 529 });
      case "cut":
        begin(body.length).write(body.slice(0, body.length / 2), () => response.destroy());
        return;
      case "malformed":
        begin(body.length).end(`<${body.slice(1)}`);
        return;
      default:
        begin(Buffer.byteLength(body)).end(body);
    }
  }

  async #stream(response: ServerResponse, dialect: Dialect, reply: Reply, model: string): Promise<void> {
    const { head, chunks, tail } = dialect.stream(told(reply, model));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    for (const frame of head) send(response, frame);
    for (const [index, frame] of chunks.entries()) {
      if (reply.holdAfterChunks === index) await this.#hold(response);
      // Whoever has gone away in the meantime does not keep the process here.
      if (index > 0 && reply.chunkDelayMs !== undefined)
        await delay(reply.chunkDelayMs, undefined, { ref: false });
      if (response.destroyed) return;
      send(response, frame);
    }
    if (reply.holdAfterChunks === chunks.length) await this.#hold(response);
    switch (reply.fault) {
      case "hang":
        return;
      case "reset":
        // A reset overtakes what is on its way; the pieces before it are to arrive.
        await delay(20);
        response.socket?.resetAndDestroy();
        return;
      case "malformed":
        response.write('data: {"broken\n\n');
        break;
      case "overloaded":
        send(response, dialect.overloaded);
        break;
      case "cut":
        break;
      default:
        for (const frame of tail) send(response, frame);
    }
    response.end();
  }

  /** Until it is released, or nobody waits any more. */
  async #hold(response: ServerResponse): Promise<void> {
    this.#held += 1;
    this.#events.emit("held");
    await Promise.race([once(this.#events, "release"), once(response, "close")]);
    this.#held -= 1;
  }
}

async function recorded(incoming: IncomingMessage, response: ServerResponse): Promise<RecordedRequest> {
  const isLeft = once(response, "close").then(() => !response.writableFinished);
  let text = "";
  for await (const piece of incoming.setEncoding("utf8")) text += piece;
  // What is not JSON fails here, and its connection is ended.
  const body = JSON.parse(text) as JsonObject;
  const path = incoming.url ?? "/";
  return {
    path,
    headers: incoming.headers,
    body,
    isStreamed: body.stream === true || path.includes(":streamGenerateContent"),
    isLeft,
  };
}

function modelOf({ path, body }: RecordedRequest): string {
  return typeof body.model === "string" ? body.model : (/models\/([^:]+):/.exec(path)?.[1] ?? "unknown");
}

function send(response: ServerResponse, { event, data }: Frame): void {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  response.write(`${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`);
}

function sendFault(
  response: ServerResponse,
  dialect: Dialect,
  { status, headers = {}, body }: { status: number; headers?: Record<string, string>; body?: string },
): void {
  const text = body ?? JSON.stringify(dialect.error(status, `The script says ${status}.`));
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

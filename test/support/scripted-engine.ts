/** An engine that answers as a test says, over a real socket, and remembers what it was asked. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { ShellError } from "../../src/sdk/shell/index.ts";
import type { Json } from "./client.ts";

export interface Asked {
  headers: IncomingHttpHeaders;
  body: Json;
  /** As it came, byte for byte. */
  text: string;
}

/** Answers one request, in whatever way. */
export type Script = (asked: Asked, response: ServerResponse) => void | Promise<void>;

export interface ScriptedEngine extends AsyncDisposable {
  url: string;
  asked: Asked[];
  /** What the next requests get, one each; the last one is for all that come after. */
  play(...scripts: Script[]): void;
}

export async function scriptedEngine(...scripts: Script[]): Promise<ScriptedEngine> {
  let left = scripts;
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === "GET") return void servePage(request.url ?? "/", response);
    const text = await textOf(request);
    const question = { headers: request.headers, body: JSON.parse(text), text };
    asked.push(question);
    const [script = () => response.destroy()] = left;
    if (left.length > 1) left = left.slice(1);
    await script(question, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens has an address of this kind.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/openharness/v1`,
    asked,
    play(...next) {
      left = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const root = new URL("../../", import.meta.url);

/** An empty page, and modules of `src/` as a build would make them for browsers: the same, without the types. */
async function servePage(path: string, response: ServerResponse): Promise<void> {
  if (!/^\/src\/(sdk\/shell|web)\/[\w.-]+\.ts$/.test(path)) {
    response.writeHead(path === "/" ? 200 : 404, { "Content-Type": "text/html; charset=utf-8" });
    return void response.end("<!doctype html><title>A shell</title>");
  }
  const text = await readFile(new URL(`.${path}`, root), "utf8");
  response.writeHead(200, { "Content-Type": "text/javascript; charset=utf-8" });
  response.end(stripTypeScriptTypes(text));
}

async function textOf(request: IncomingMessage): Promise<string> {
  return (await request.setEncoding("utf8").toArray()).join("");
}

/** A response message for the request, with these members in its `response`. */
export function message({ body }: Asked, response: object, rest: object = {}): object {
  return {
    protocol_version: "1.0.0",
    request_id: body.request_id,
    ...rest,
    response: { status: "success", ...response },
  };
}

export function answer(response: object, rest: object = {}): Script {
  return (asked, reply) => sendJson(reply, message(asked, response, rest));
}

export function sendJson(reply: ServerResponse, body: unknown, status = 200, headers: object = {}): void {
  reply.writeHead(status, { "Content-Type": "application/json", ...headers });
  reply.end(JSON.stringify(body));
}

/** A response with these directives that ends its run. */
export function directives(...list: object[]): Script {
  return answer({ action_directives: list });
}

/** The same in a run that goes on. */
export function open(token: string, ...list: object[]): Script {
  return answer({ action_directives: list, continuation: continuation(token) });
}

export function continuation(token: string): object {
  return { run_id: "run_1", sop_id: "echo", continuation_token: token };
}

export function failed(code: string, more: object = {}): Script {
  return answer({ status: "error", error: { code, message: `It is ${code}.`, retryable: false, ...more } });
}

export function named(id: string, kind: string, more: object = {}): object {
  return { extensions: { "com.bridle": { directive_id: id, kind, ...more } } };
}

export function say(text: string, more: object = {}): object {
  return { action_type: "render_message", payload: { text, message: text }, ...more };
}

/** Begins an event stream. */
export function stream(reply: ServerResponse): {
  frame(event: string, data: object): void;
  directive(asked: Asked, sequence: number, directive: object): void;
  end(): void;
} {
  reply.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
  const frame = (event: string, data: object) =>
    reply.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  return {
    frame,
    directive: ({ body }, sequence, directive) =>
      frame("directive", {
        type: "directive",
        stream_id: "s1",
        sequence,
        request_id: body.request_id,
        action_directive: directive,
      }),
    end: () => reply.end(),
  };
}

/** The error that a turn ends with. */
export async function errorOf(turn: Promise<unknown>): Promise<ShellError> {
  const error = await turn.then(
    () => assert.fail("the turn succeeded"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ShellError, String(error));
  return error;
}

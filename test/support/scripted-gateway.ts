/** A gateway that says whatever a test has it say, true or not, and remembers what it heard. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "./client.ts";

export interface Heard {
  method: string;
  /** With its query. */
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  body: Json;
}

export type Reply = (heard: Heard, response: ServerResponse) => void | Promise<void>;

export interface ScriptedGateway extends AsyncDisposable {
  url: string;
  heard: Heard[];
  /** What was heard at a path that begins like this. */
  at(path: string): Heard[];
}

export async function scriptedGateway(reply: Reply): Promise<ScriptedGateway> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const text = (await request.setEncoding("utf8").toArray()).join("");
    const { method = "", url: path = "", headers } = request;
    const call = { method, path, headers, text, body: text === "" ? null : JSON.parse(text) };
    heard.push(call);
    await reply(call, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // It was listening on a port just now.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    heard,
    at: (path) => heard.filter((call) => call.path.startsWith(path)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/harp+json" });
  response.end(JSON.stringify(body));
}

let messages = 0;

/** As a gateway emits them. */
export function emitted(msgType: string, body: object, extra: object = {}): Json {
  messages += 1;
  return {
    msgId: `msg-${messages}`,
    msgType,
    requestId: "-",
    createdAt: "2026-02-21T12:00:30Z",
    sender: { gatewayId: "gw-01" },
    body,
    ...extra,
  };
}

export function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  { message = "No.", retryable = false }: { message?: string; retryable?: boolean } = {},
): void {
  send(response, status, emitted("error", { code, message, details: { retryable } }));
}

/** A page with one item for each of these messages. */
export function page(envelopes: readonly Json[], nextCursor: string | null = null): Json {
  const items = envelopes.map((envelope) => ({
    requestId: envelope.requestId,
    msgId: envelope.msgId,
    status: "Pending",
    createdAt: envelope.createdAt,
    expiresAt: envelope.expiresAt,
    envelope,
  }));
  return emitted("inbox.page", { items, nextCursor });
}

/** Begins a stream of events, which stays open. */
export function beginStream(response: ServerResponse): (event: string, data: unknown) => void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  return (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** MCP servers over streamable HTTP, in this process: with sessions for the protocol as it was, without for the present one. */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import {
  createMcpHandler,
  isLegacyRequest,
  type McpServer,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { emptyMemory, everything, type Memory } from "./everything.ts";

export interface HttpMcpServer extends AsyncDisposable {
  url: string;
  /** The headers of the requests that came, newest last. */
  asked: Headers[];
  /** Sessions that are open. */
  sessions: ReadonlyMap<string, WebStandardStreamableHTTPServerTransport>;
  /** What a server that was started again does: it knows none of its sessions. */
  forgetSessions(): void;
  /** Breaks all connections in mid-word. */
  breakConnections(): void;
  /** From now on nothing but this status is answered. */
  refuse(status: number): void;
}

export interface HttpMcpOptions {
  /** Knows only the protocol as it was before 2026-07-28. */
  isLegacy?: boolean;
  port?: number;
}

export async function serveEverything(
  options: HttpMcpOptions & { memory?: Memory } = {},
): Promise<HttpMcpServer> {
  const memory = options.memory ?? emptyMemory();
  const server: HttpMcpServer = await serveMcp(
    () => everything(memory, () => server.breakConnections()),
    options,
  );
  return server;
}

/** `make` is called for every session, or for every request where there are none. */
export async function serveMcp(
  make: () => McpServer | Server,
  { isLegacy = false, port = 0 }: HttpMcpOptions = {},
): Promise<HttpMcpServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const asked: Headers[] = [];
  let refusal: number | null = null;
  const present = createMcpHandler(make, { legacy: "reject" });
  const http = createServer((incoming, outgoing) => {
    respond(incoming, outgoing, answer).catch(() => outgoing.destroy());
  });

  async function answer(request: Request): Promise<Response> {
    asked.push(request.headers);
    if (refusal !== null) return new Response(null, { status: refusal });
    if (isLegacy || (await isLegacyRequest(request))) return await sessionOf(request);
    return await present.fetch(request);
  }

  async function sessionOf(request: Request): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const known = sessions.get(id);
      return known === undefined ? new Response(null, { status: 404 }) : await known.handleRequest(request);
    }
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await make().connect(transport);
    return await transport.handleRequest(request);
  }

  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${portOf(http.address())}/mcp`,
    asked,
    sessions,
    forgetSessions: () => sessions.clear(),
    breakConnections: () => http.closeAllConnections(),
    refuse: (status) => {
      refusal = status;
    },
    async [Symbol.asyncDispose]() {
      await present.close();
      for (const transport of sessions.values()) await transport.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === "string")
    throw new Error("The server does not listen on a port");
  return address.port;
}

/** From Node's own pair to the standard one and back; whoever hangs up aborts the request. */
async function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const { method = "GET", url = "/", headers } = incoming;
  const body = method === "POST" ? await buffer(incoming) : null;
  const request = new Request(`http://127.0.0.1${url}`, {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, `${value}`]),
    body,
    signal: gone.signal,
  });
  const response = await answer(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else {
    outgoing.flushHeaders();
    await pipeline(Readable.fromWeb(response.body), outgoing);
  }
}

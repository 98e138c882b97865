/** The official client of the Model Context Protocol, speaking either of the two kinds of revisions. */

import { Client, type ElicitResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Json } from "../support/client.ts";
import { adminKey, type TestServer } from "../support/server.ts";

/** Before 2026-07-28 a conversation begins with a handshake; since then every request stands for itself. */
export const eras = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof eras)[number];

export interface ConnectOptions {
  key?: string;
  /** What the person at the client does with a form; without it the client has none. */
  elicit?: (params: Json) => ElicitResult;
}

export interface McpClient extends AsyncDisposable {
  client: Client;
  call(name: string, args?: object, meta?: object, options?: Json): Promise<Json>;
}

export async function connect(
  server: Pick<TestServer, "url">,
  era: Era,
  options: ConnectOptions = {},
): Promise<McpClient> {
  const { key = adminKey, elicit } = options;
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: elicit === undefined ? {} : { elicitation: { form: {} } },
      versionNegotiation: { mode: era === "2026-07-28" ? { pin: era } : "legacy" },
    },
  );
  if (elicit !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => elicit(params));
  const headers = { authorization: `Bearer ${key}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }),
  );
  return {
    client,
    call: (name, args = {}, meta, more) =>
      client.callTool(
        { name, arguments: { ...args }, ...(meta === undefined ? {} : { _meta: { ...meta } }) },
        more,
      ),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export function textOf({ content }: Json): string {
  return content[0].text;
}

export function taskOf({ _meta }: Json): Json {
  return _meta["bridle/task"];
}

/** A call as it goes over the wire, for tests that pull the wire out. */
export function rawCall(
  { url }: Pick<TestServer, "url">,
  key: string,
  era: Era,
  params: { name: string; arguments: object },
  meta: object,
  signal: AbortSignal,
): Promise<Response> {
  const isModern = era === "2026-07-28";
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const method = "tools/call";
  return fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": era,
      ...(isModern ? { "mcp-method": method, "mcp-name": params.name } : {}),
    },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method },
      params: { ...params, _meta: { ...meta, ...(isModern ? envelope : {}) } },
    }),
    signal,
  });
}

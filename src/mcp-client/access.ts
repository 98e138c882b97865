/**
 * Access to the MCP servers that the operator named.
 *
 *   M1  One connection per server, made when it is first used and shared by all calls (`connection.ts`).
 *   M2  A question of a server goes to the call that it belongs to, and to no other (`questions.ts`): shared as it is, the
 *       connection to a server that does not say whose its questions are has one call at a time.
 *   M3  A call is repeated here only when the server certainly did not carry it out: it no longer knew the session.
 *       Everything else is for the caller to decide, who is told whether the outcome is known.
 *   M4  The SDK is loaded with the first use; a process that calls no MCP server does not pay for it.
 */

import type { Client, Tool } from "@modelcontextprotocol/client";
import type { Logger } from "pino";
import type { JsonObject } from "../store/port.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { exchange } from "./exchange.ts";
import { toMcpError } from "./failures.ts";
import {
  type McpAccess,
  type McpCallOptions,
  McpError,
  type McpResult,
  type McpServerSettings,
  type McpToolInfo,
} from "./mcp.ts";
import { Questions } from "./questions.ts";
import { toResult, toToolInfo } from "./results.ts";
import { abortable, RunningCall } from "./running-call.ts";

const timeoutMsDefault = 60_000;
const listMs = 30_000;
/** A list is asked for again after this long: the stream that says that it changed may have been down. */
const listAgeMsMax = 5 * 60_000;

/** The settings are those that `readMcpServers` has checked. */
export function createMcp(
  servers: Record<string, McpServerSettings>,
  { logger, version = "0" }: { logger?: Logger; version?: string } = {},
): McpAccess {
  const named = new Map(
    Object.entries(servers).map(([name, settings]) => [
      name,
      new Server(name, settings, { logger, version }),
    ]),
  );
  const find = (name: string): Server => {
    const server = named.get(name);
    if (server !== undefined) return server;
    throw new McpError("mcp_unknown", `There is no MCP server ${JSON.stringify(name)}.`);
  };
  return {
    servers: [...named.keys()],
    tools: async (server, signal) => await find(server).tools(signal),
    call: async (server, tool, input, options) => await find(server).call(tool, input, options),
    async close() {
      await Promise.all([...named.values()].map((server) => server.close()));
    },
  };
}

class Server {
  readonly #name: string;
  readonly #settings: McpServerSettings;
  readonly #questions = new Questions(() => this.#connection.renew());
  readonly #connection: Connection;
  #list: { tools: Promise<Tool[]>; at: number } | null = null;

  constructor(name: string, settings: McpServerSettings, options: ConnectionOptions) {
    this.#name = name;
    this.#settings = settings;
    this.#connection = new Connection(name, settings, options, this.#questions, () => {
      this.#list = null;
    });
  }

  async tools(signal: AbortSignal): Promise<McpToolInfo[]> {
    const tools = await abortable(this.#tools(), signal);
    return tools.map((tool) => toToolInfo(this.#name, tool, this.#settings.effects));
  }

  async call(name: string, input: JsonObject, options: McpCallOptions): Promise<McpResult> {
    options.signal.throwIfAborted();
    const timeoutMs = options.timeoutMs ?? this.#settings.timeoutMs ?? timeoutMsDefault;
    const call = new RunningCall(options, timeoutMs, `The tool ${name} of the MCP server ${this.#name}`);
    try {
      return await call.orGivenUp(this.#run(name, input, call, options));
    } finally {
      call.end();
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #run(
    name: string,
    input: JsonObject,
    call: RunningCall,
    options: McpCallOptions,
  ): Promise<McpResult> {
    const tool = (await call.orGivenUp(this.#tools())).find((known) => known.name === name);
    if (tool === undefined) {
      throw new McpError("mcp_unknown", `The MCP server ${this.#name} has no tool ${JSON.stringify(name)}.`);
    }
    return await this.#questions.during(call, async () => {
      call.startTimer();
      const send = (client: Client) => call.orGivenUp(exchange(client, tool, input, call, options));
      return toResult(tool, await this.#connection.use(send));
    });
  }

  #tools(): Promise<Tool[]> {
    if (this.#list !== null && performance.now() - this.#list.at < listAgeMsMax) return this.#list.tools;
    const tools = this.#connection.use(listTools).catch((error) => {
      if (this.#list?.tools === tools) this.#list = null;
      const { code, message } = toMcpError(this.#name, error);
      // Nothing happens by listing.
      throw new McpError(code, message);
    });
    this.#list = { tools, at: performance.now() };
    return tools;
  }
}

/** All pages; the SDK has a limit on their number. */
async function listTools(client: Client): Promise<Tool[]> {
  // The SDK would say so on the console.
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const { tools } = await client.listTools(undefined, {
    signal: AbortSignal.timeout(listMs),
    timeout: listMs,
  });
  return tools;
}

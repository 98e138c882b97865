/**
 * Functions that stand in for tools, by name: of the agent's own and the built-in ones, and otherwise, as `server.tool`, of MCP
 * servers.
 */

import { type Elicitation, type ElicitationAnswer, type McpAccess, McpError } from "../mcp-client/mcp.ts";
import type { JsonObject, JsonValue } from "../store/port.ts";
import { jsonSchemaOf, type Schema } from "../tools/schema.ts";
import type { ToolDefinition, ToolEffect } from "../tools/tool.ts";

export interface StandInContext {
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
  /** Of a tool of an MCP server: asks the person in the middle of the call. */
  elicit?(asked: Elicitation): Promise<ElicitationAnswer>;
}

export type StandInFunction = (input: JsonObject, context: StandInContext) => JsonValue | Promise<JsonValue>;

/**
 * What stands in for a tool that is known has its effect, its risk and its schemas. Of others the effect is taken to be irreversible
 * unless said, as that of any tool of which nothing is known.
 */
export type StandIn =
  | StandInFunction
  | { run: StandInFunction; description?: string; input?: Schema; effect?: ToolEffect };

export type StandIns = Record<string, StandIn>;

interface Known {
  name: string;
  run: StandInFunction;
  description: string;
  input: Schema | undefined;
  effect: ToolEffect;
}

/** As local tools: called in the place of those of the same name, whosever they are. */
export function toolsOf(standIns: StandIns): ToolDefinition[] {
  return known(standIns).map(({ name, run, description, input, effect }) => ({
    name,
    description,
    effect,
    ...(input === undefined ? {} : { input }),
    run: (given, { signal, idempotencyKey }) => run(asObject(given), { signal, idempotencyKey }),
  }));
}

/** Those of MCP servers: all that have a dot, but for the names of local tools. */
export function mcpOf(standIns: StandIns, local: ReadonlySet<string> = new Set()): McpAccess {
  const tools = known(standIns)
    .filter(({ name }) => name.includes(".") && !local.has(name))
    .map(({ name, ...rest }) => {
      const dot = name.indexOf(".");
      return { ...rest, server: name.slice(0, dot), name: name.slice(dot + 1) };
    });
  const servers = [...new Set(tools.map(({ server }) => server))];
  return {
    servers,
    async tools(server) {
      if (!servers.includes(server)) throw unknown(server, standIns);
      return tools
        .filter((tool) => tool.server === server)
        .map(({ name, description, input, effect }) => ({
          server,
          name,
          description,
          input: jsonSchemaOf(input) ?? { type: "object" },
          output: null,
          effect,
        }));
    },
    async call(server, tool, input, { signal, idempotencyKey, onElicitation }) {
      const found = tools.find((one) => one.server === server && one.name === tool);
      if (found === undefined) throw unknown(`${server}.${tool}`, standIns);
      signal.throwIfAborted();
      try {
        return { output: await found.run(input, { signal, idempotencyKey, elicit: onElicitation }) };
      } catch (error) {
        if (error instanceof McpError || signal.aborted) throw error;
        const message = error instanceof Error ? error.message : String(error);
        throw new McpError("mcp_tool_failed", message, { cause: error });
      }
    },
    async close() {},
  };
}

function known(standIns: StandIns): Known[] {
  return Object.entries(standIns).map(([name, given]) => {
    const {
      run,
      description = name,
      input,
      effect = "irreversible",
    } = typeof given === "function" ? { run: given } : given;
    return { name, run, description, input, effect };
  });
}

function unknown(wanted: string, standIns: StandIns): McpError {
  const names = Object.keys(standIns).join(", ") || "none";
  return new McpError("mcp_unknown", `Nothing stands in for ${wanted} in this rehearsal; there is ${names}.`);
}

/** A tool's input is an object by its schema; what has none is given what there is. */
function asObject(input: unknown): JsonObject {
  return typeof input === "object" && input !== null && !Array.isArray(input) ? { ...input } : {};
}

/** The tools that a run can find by name: the agent's own, the server's, and those of MCP servers as `server.tool`. */

import { HarnessError } from "../../kernel/core/errors.ts";
import { requireTool } from "../../kernel/personas/persona-policy.ts";
import type { McpToolInfo } from "../../mcp-client/mcp.ts";
import type { ContextTool, ToolDefinition } from "../../tools/tool.ts";
import type { Agent, AgentContext } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import type { Run } from "../run/run.ts";
import type { World } from "../world.ts";
import { assertMayUse } from "./may-use.ts";
import { listMcpTools } from "./mcp-list.ts";

export type UsableTool = ToolDefinition | ContextTool<AgentContext>;

export type FoundTool = { kind: "local"; tool: UsableTool } | { kind: "mcp"; tool: McpToolInfo };

export class Toolbox {
  readonly #run: Run;
  readonly #world: World;
  readonly #local: ReadonlyMap<string, UsableTool>;
  readonly #standIns: ReadonlyMap<string, ToolDefinition>;
  readonly #lists = new Map<string, Promise<McpToolInfo[]>>();

  constructor(run: Run, agent: Pick<Agent, "tools">, world: World) {
    this.#run = run;
    this.#world = world;
    const own = (agent.tools ?? []).filter(isUsable);
    // What the agent brings along itself comes before what the server has under the same name.
    const known = byName<UsableTool>([...world.tools, ...own]);
    this.#standIns = byName(world.standIns ?? []);
    const alone = [...this.#standIns.values()].filter(({ name }) => this.#serverOf(name) === null);
    this.#local = byName([...alone, ...[...known.values()].map((tool) => this.#stoodInFor(tool))]);
  }

  async find(name: string): Promise<FoundTool> {
    const local = this.#local.get(name);
    if (local !== undefined) return { kind: "local", tool: local };
    const server = this.#serverOf(name);
    const found = server === null ? [] : (await this.#list(server)).filter((tool) => mcpName(tool) === name);
    const [tool] = found;
    if (tool !== undefined) return { kind: "mcp", tool };
    throw new AgentFailure("unknown_tool", `There is no tool ${JSON.stringify(name)} here.${this.#hint()}`);
  }

  /** A tool that is given as itself needs not be looked for. */
  given(tool: UsableTool): FoundTool {
    return { kind: "local", tool: this.#stoodInFor(tool) };
  }

  /** In a rehearsal another function is called; what the tool says of itself stays true. */
  #stoodInFor(tool: UsableTool): UsableTool {
    const standIn = this.#standIns.get(tool.name);
    if (standIn === undefined) return tool;
    if ("run" in tool) return { ...tool, run: standIn.run };
    const { runWith: _, ...terms } = tool;
    return { ...terms, run: standIn.run };
  }

  /** The tools of these names; a name that ends with a star stands for all that begin so. */
  async all(names: readonly string[]): Promise<FoundTool[]> {
    const found = new Map<string, FoundTool>();
    for (const name of names) {
      if (!name.endsWith("*")) {
        found.set(name, await this.find(name));
        continue;
      }
      for (const tool of await this.#matching(name.slice(0, -1))) found.set(nameOf(tool), tool);
    }
    return [...found.values()];
  }

  /** Whether the persona lets the run use it at all; a call may still have to be approved. */
  mayUse(found: FoundTool): boolean {
    try {
      if (found.kind === "local") assertMayUse(this.#run, found.tool);
      else requireTool(this.#run.task, nameOf(found));
      return true;
    } catch (error) {
      if (error instanceof HarnessError) return false;
      throw error;
    }
  }

  async #matching(prefix: string): Promise<FoundTool[]> {
    const local = [...this.#local.values()].map((tool): FoundTool => ({ kind: "local", tool }));
    const servers = this.#world.mcp.servers.filter(
      (server) => `${server}.`.startsWith(prefix) || prefix.startsWith(`${server}.`),
    );
    const remote: FoundTool[] = [];
    for (const server of servers) {
      for (const tool of await this.#list(server)) remote.push({ kind: "mcp", tool });
    }
    return [...local, ...remote].filter((tool) => nameOf(tool).startsWith(prefix));
  }

  /** Listed once a run, so that the code is given the same tools whenever it is repeated. */
  #list(server: string): Promise<McpToolInfo[]> {
    const list = this.#lists.get(server) ?? listMcpTools(this.#run, this.#world.mcp, server);
    this.#lists.set(server, list);
    return list;
  }

  #serverOf(name: string): string | null {
    const server = name.slice(0, Math.max(0, name.indexOf(".")));
    return this.#world.mcp.servers.includes(server) ? server : null;
  }

  #hint(): string {
    const names = [...this.#local.keys(), ...this.#world.mcp.servers.map((server) => `${server}.…`)];
    return names.length === 0 ? "" : ` Known are ${names.slice(0, 20).join(", ")}.`;
  }
}

function byName<T extends UsableTool>(tools: readonly T[]): ReadonlyMap<string, T> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function isUsable(tool: NonNullable<Agent["tools"]>[number]): tool is UsableTool {
  return "run" in tool || "runWith" in tool;
}

export function nameOf(found: FoundTool): string {
  return found.kind === "local" ? found.tool.name : mcpName(found.tool);
}

function mcpName({ server, name }: McpToolInfo): string {
  return `${server}.${name}`;
}

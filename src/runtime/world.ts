/** What runs can reach beside the kernel: models, the tools of the server, and MCP servers. */

import type { McpAccess } from "../mcp-client/mcp.ts";
import { ModelError, type ModelSource } from "../models/model.ts";
import type { AnyTool, ToolDefinition } from "../tools/tool.ts";
import type { AgentContext } from "./agents/agent.ts";

export interface World {
  models: ModelSource;
  mcp: McpAccess;
  /** Tools that every agent can use, as far as its persona allows. */
  tools: readonly AnyTool<AgentContext>[];
  /** In a rehearsal: what is called in place of tools of the same names, whosever they are. */
  standIns?: readonly ToolDefinition[];
}

/** For runs that have only what the log has. */
export const emptyWorld: World = {
  models: {
    defaultModel: null,
    open(name) {
      throw new ModelError("model_not_configured", `There is no model ${name} here.`);
    },
  },
  mcp: {
    servers: [],
    tools: async () => [],
    call: () => Promise.reject(new Error("There is no MCP server here.")),
    close: async () => {},
  },
  tools: [],
};

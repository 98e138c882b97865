/** What the protocol's library is given for one request: the tools of its caller, and nothing that outlasts it. */

import type {
  CallToolRequestParams,
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import { HarnessError, refusalFor } from "../../kernel/core/errors.ts";
import { ToolCall } from "./call.ts";
import type { McpRequest } from "./request.ts";
import { toolError } from "./results.ts";
import type { Sdk } from "./sdk.ts";
import { findAgentTool, isGeneralTool, listTools } from "./tools.ts";

const instructions =
  "Each tool but get_task, answer_task and cancel_task is an agent. A call becomes a task that goes on whatever becomes of the " +
  "connection; when it takes long or waits for somebody, the result says so, with the task's id for get_task and answer_task.";

export function serverFor(sdk: Sdk, request: McpRequest): Server {
  const { kernel, caller, facts } = request;
  const server = new sdk.Server(
    { name: "bridle", version: facts.version },
    { capabilities: { tools: {} }, instructions, inputRequired: { legacyShim: false } },
  );
  server.setRequestHandler("tools/list", async () => ({ tools: await listTools(kernel, caller) }));
  server.setRequestHandler("tools/call", ({ params }, context) =>
    callTool({ sdk, server, request }, context, params),
  );
  return server;
}

async function callTool(
  parts: { sdk: Sdk; server: Server; request: McpRequest },
  context: ServerContext,
  params: CallToolRequestParams,
): Promise<CallToolResult | InputRequiredResult> {
  const { sdk, request } = parts;
  const { kernel, caller, logger, id } = request;
  try {
    const { name } = params;
    if (isGeneralTool(name)) return await new ToolCall(parts, context, params).general(name);
    const tool = await findAgentTool(kernel, caller, name);
    if (tool !== null) return await new ToolCall(parts, context, params).agent(tool);
    throw new sdk.ProtocolError(
      sdk.INVALID_PARAMS,
      `There is no tool ${JSON.stringify(name.slice(0, 128))} for this caller.`,
    );
  } catch (thrown) {
    const error = refusalFor(thrown) ?? thrown;
    // What a model can read it can put right, so refusals are results. They may quote what they refuse.
    if (error instanceof HarnessError && error.code !== "internal_error") {
      return toolError(kernel.redactor.value(error.message));
    }
    if (error instanceof sdk.ProtocolError) throw error;
    logger.error({ event: "http.failed", err: error, request_id: id }, "A request failed");
    throw new sdk.ProtocolError(sdk.INTERNAL_ERROR, "Internal error");
  }
}

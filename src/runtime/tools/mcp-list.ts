/** Which tools an MCP server has, asked once a run and recorded: what a model is offered must not change when it is repeated. */

import type { StepSpan } from "../../kernel/core/events.ts";
import { type McpAccess, McpError, type McpToolInfo } from "../../mcp-client/mcp.ts";
import type { JsonValue } from "../../store/port.ts";
import { performStep } from "../run/recorded-steps.ts";
import type { Attempted } from "../run/recording.ts";
import type { Run } from "../run/run.ts";

export async function listMcpTools(run: Run, mcp: McpAccess, server: string): Promise<McpToolInfo[]> {
  const span: StepSpan = {
    step: run.key(`mcp:${server}:tools/list`),
    kind: "mcp",
    name: `${server}.tools/list`,
  };
  return toolsIn(await performStep(run, span, () => attempt(mcp, server, run.signal)));
}

async function attempt(mcp: McpAccess, server: string, signal: AbortSignal): Promise<Attempted> {
  try {
    return { output: (await mcp.tools(server, signal)).map((tool) => ({ ...tool })) };
  } catch (error) {
    if (!(error instanceof McpError)) throw error;
    return { error: { code: error.code, message: error.message } };
  }
}

/** What is in the log was written here; a replay may have been given anything in its place. */
function toolsIn(output: JsonValue): McpToolInfo[] {
  const listed: unknown[] = Array.isArray(output) ? output : [];
  return listed.filter(isToolInfo);
}

function isToolInfo(value: unknown): value is McpToolInfo {
  return (
    typeof value === "object" && value !== null && "server" in value && "name" in value && "effect" in value
  );
}

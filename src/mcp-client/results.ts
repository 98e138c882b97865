/** What a server says about its tools and what they did, as the runtime sees it. */

import type { CallToolResult, Tool } from "@modelcontextprotocol/client";
import type { JsonObject, JsonValue } from "../store/port.ts";
import { bounded } from "./failures.ts";
import { McpError, type McpResult, type McpServerSettings, type McpToolInfo } from "./mcp.ts";

/** A result becomes part of the record of a task; more than this belongs into a file. */
const resultBytesMax = 1024 * 1024;

export function toToolInfo(
  server: string,
  tool: Tool,
  effects: McpServerSettings["effects"] = {},
): McpToolInfo {
  const { name, description = "", inputSchema, outputSchema } = tool;
  return {
    server,
    name,
    description,
    input: asJson(inputSchema),
    output: outputSchema === undefined ? null : asJson(outputSchema),
    effect: (Object.hasOwn(effects, name) ? effects[name] : undefined) ?? effectOf(tool),
  };
}

/** A server that says nothing about a tool might do anything with it. */
function effectOf({ annotations }: Tool): McpToolInfo["effect"] {
  if (annotations?.readOnlyHint === true) return "none";
  return annotations?.destructiveHint === false ? "reversible" : "irreversible";
}

export function toResult(tool: Tool, { isError, content, structuredContent }: CallToolResult): McpResult {
  if (isError === true) {
    throw new McpError("mcp_tool_failed", bounded(textOf(content) ?? "") || `The tool ${tool.name} failed.`);
  }
  if (tool.outputSchema !== undefined && structuredContent === undefined) {
    throw new McpError(
      "mcp_protocol_error",
      `The tool ${tool.name} gave no structured result, which it promises.`,
      {
        isOutcomeUnknown: true,
      },
    );
  }
  const json = JSON.stringify(structuredContent ?? textOf(content) ?? content);
  if (Buffer.byteLength(json) > resultBytesMax) {
    throw new McpError(
      "mcp_tool_failed",
      `The result of the tool ${tool.name} has more than ${resultBytesMax} bytes as JSON.`,
      { isOutcomeUnknown: true },
    );
  }
  const output: JsonValue = JSON.parse(json);
  return { output };
}

/** Null when there is something else than text. */
function textOf(content: CallToolResult["content"]): string | null {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === content.length ? texts.join("\n") : null;
}

/** It came as JSON; this is the same without what the SDK's types say beside it. */
function asJson(schema: object): JsonObject {
  return JSON.parse(JSON.stringify(schema));
}

/**
 * A call on an open connection. In the protocol since 2026-07-28 a server that needs an answer of a person ends the call
 * with its questions, and the same call is made again with the answers; before, that is one request.
 */

import type { CallToolResult, Client, InputRequiredResult, Tool } from "@modelcontextprotocol/client";
import type { JsonObject } from "../store/port.ts";
import { pause } from "../web/pause.ts";
import { type McpCallOptions, McpError } from "./mcp.ts";
import type { FlatAnswer, RunningCall } from "./running-call.ts";
import { timeoutMsMax } from "./settings.ts";

/** A server that asks more often asks for ever. */
const roundsMax = 10;
/** A server that asks for nothing wants the call later. */
const laterMs = 250;

export async function exchange(
  client: Client,
  tool: Tool,
  input: JsonObject,
  call: RunningCall,
  { idempotencyKey, onProgress }: McpCallOptions,
): Promise<CallToolResult> {
  const { isInputRequiredResult } = await import("@modelcontextprotocol/client");
  const { outputSchema: _, ...toolDefinition } = tool;
  const options = {
    signal: call.signal,
    // The call has its own clock, which can stand still.
    timeout: timeoutMsMax,
    allowInputRequired: true,
    // Without its output schema: a result that is not as promised must not look like a call that was refused.
    toolDefinition,
    ...(onProgress === undefined ? {} : { onprogress: toProgress(onProgress) }),
  };
  const _meta = { ...call.trace, "bridle/idempotency-key": idempotencyKey };
  const params = { name: tool.name, arguments: input, _meta };
  let result: CallToolResult | InputRequiredResult = await client.callTool(params, options);
  for (let round = 0; isInputRequiredResult(result); round++) {
    if (round === roundsMax) throw unanswerable(tool, `asked more than ${roundsMax} times`);
    const answers = await answersTo(tool, result, call);
    const { requestState } = result;
    const more = { inputResponses: answers, ...(requestState === undefined ? {} : { requestState }) };
    result = await client.callTool({ ...params, ...more }, options);
  }
  return result;
}

async function answersTo(
  tool: Tool,
  { inputRequests = {} }: InputRequiredResult,
  call: RunningCall,
): Promise<Record<string, FlatAnswer>> {
  const answers: Record<string, FlatAnswer> = {};
  for (const [key, request] of Object.entries(inputRequests)) {
    if (request.method !== "elicitation/create")
      throw unanswerable(tool, `asked for ${request.method}, which is not offered`);
    const { params } = request;
    if (params.mode === "url") answers[key] = { action: "decline" };
    else {
      const schema: JsonObject = JSON.parse(JSON.stringify(params.requestedSchema));
      answers[key] = await call.ask({ message: params.message, schema });
    }
  }
  if (Object.keys(answers).length === 0) await pause(laterMs);
  return answers;
}

function unanswerable(tool: Tool, what: string): McpError {
  return new McpError("mcp_protocol_error", `The tool ${tool.name} ${what}.`, {
    isOutcomeUnknown: true,
  });
}

function toProgress(onProgress: NonNullable<McpCallOptions["onProgress"]>) {
  return (told: { progress: number; total?: number | undefined; message?: string | undefined }) => {
    const { progress, total = 0, message = null } = told;
    const percent = total > 0 ? Math.min(100, Math.max(0, (progress / total) * 100)) : null;
    onProgress({ message, percent });
  };
}

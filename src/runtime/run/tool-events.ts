/**
 * A tool call in the protocol's own events, beside the span that is its timing and its record. Each of them is in the commit of a
 * record of the step: the announcement with the first (its approval, its beginning or its result), the ending with the last. So a
 * run that is repeated after a crash never announces a call twice.
 */

import type { EventPayloads, StepSpan, ToolCallInput, ToolNamed } from "../../kernel/core/events.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { StepResult, TaskRecord } from "../../kernel/kinds/task.ts";
import type { JsonValue } from "../../store/port.ts";
import type { Change } from "./record-run.ts";

/** A call that somebody wants: what the events before its ending say. */
export interface ToolCallRequest {
  span: StepSpan;
  effect: ToolCallInput["effect"];
  input: JsonValue;
  callId: string | undefined;
}

/** What the record of the step says of the call. */
export function toolCallOf(unit: Unit, { effect, input, callId }: ToolCallRequest): ToolCallInput {
  return { input: unit.seal(input), effect, ...(callId === undefined ? {} : { call_id: callId }) };
}

/** Tells that the agent wants the call, and that the tool is asked for it. */
export function announceTool(request: ToolCallRequest): Change {
  return (unit, task) => {
    const { input, effect, call_id } = toolCallOf(unit, request);
    const named = nameOf(request.span, call_id);
    unit.emit(task, named.kind === "mcp" ? "agent.mcp_tool_use" : "agent.tool_use", { ...named, input });
    return unit.emit(task, "tool.requested", { ...named, effect });
  };
}

/** The ending of a step, as its span tells it. */
export type SpanEnding = EventPayloads["span.completed"] | EventPayloads["span.failed"];

type EndingKind = "tool.completed" | "tool.failed" | "agent.tool_result";
type Told = { [Kind in EndingKind]: { event: Kind; payload: EventPayloads[Kind] } }[EndingKind];

/** Those before the span event itself; none for a step that is no tool call. */
export function tellToolEnding(unit: Unit, task: TaskRecord, ending: SpanEnding): TaskRecord {
  return toolEnding(ending).reduce((told, { event, payload }) => unit.emit(told, event, payload), task);
}

export function toolEnding({ tool_call, simulated, result, ...span }: SpanEnding): Told[] {
  if (tool_call === undefined) return [];
  const named = nameOf(span, tool_call.call_id);
  const seen = observedOf(result);
  // The agent was given something in place of a result: the tool was not called.
  if (simulated !== undefined) {
    return [{ event: "agent.tool_result", payload: { ...named, ...seen, simulated: true } }];
  }
  const observed: Told = { event: "agent.tool_result", payload: { ...named, ...seen } };
  if ("error" in result) {
    return [{ event: "tool.failed", payload: { ...named, error: result.error } }, observed];
  }
  return [{ event: "tool.completed", payload: named }, observed];
}

function observedOf(
  result: StepResult,
): Pick<EventPayloads["agent.tool_result"], "status" | "output" | "error"> {
  return "error" in result
    ? { status: "error", output: null, error: result.error }
    : { status: "ok", output: result.output };
}

function nameOf({ step, kind, name }: StepSpan, callId: string | undefined): ToolNamed {
  return { step, kind: kind === "mcp" ? "mcp" : "tool", name, tool_call_id: callId ?? step };
}

const endings: ReadonlySet<string> = new Set<EndingKind>([
  "tool.completed",
  "tool.failed",
  "agent.tool_result",
]);

/** Whether an event is about how the tool call of a step ended. */
export function isToolEnding({ event, payload }: { event: string; payload: object }, step: string): boolean {
  return endings.has(event) && "step" in payload && payload.step === step;
}

/** What a span of a task says: names and attributes as OpenTelemetry's conventions for generative AI have them, and a few of our own. */

import type { KernelEvent } from "../../kernel/core/events.ts";
import { stepSpanId, taskSpanId, traceIdOf } from "../../kernel/core/trace.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { ContentReader } from "./content.ts";
import { describeModelCall } from "./model-span.ts";
import { type Attributes, known, type SpanFacts } from "./span.ts";
import type { StepEnd, TaskEnd } from "./task-trace.ts";

export type Described = Pick<SpanFacts, "name" | "kind" | "attributes">;

export async function describeTask(
  task: TaskRecord,
  { status, agent, startedAt, endedAt, failure }: TaskEnd,
  { reader, source }: { reader: ContentReader; source: TaskRecord | null },
): Promise<SpanFacts> {
  return {
    name: `invoke_agent ${agent.name}`,
    kind: "internal",
    traceId: traceIdOf(task),
    spanId: taskSpanId(task.id),
    parent: parentOf(task),
    tracestate: task.trace?.tracestate,
    startedAt: task.created_at,
    endedAt,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": agent.name,
      ...known({
        "gen_ai.agent.version": agent.version,
        "bridle.parent_task.id": task.parent_task_id,
        "bridle.replay.mode": task.replay?.mode,
        "error.type": failure?.code,
      }),
      ...ofTask(task),
      "bridle.task.status": status,
      "bridle.workspace.id": task.workspace_id,
      "bridle.persona.id": task.persona_id,
    },
    error: failure === null ? null : { code: failure.code, message: await reader.text(failure.message) },
    moments: startedAt === null ? [] : [{ name: "task.started", at: startedAt }],
    // A replay is a trace of its own, from which one gets to what it repeats.
    links: source === null ? [] : [{ traceId: traceIdOf(source), spanId: taskSpanId(source.id) }],
  };
}

/** Null for what takes no time, or is nobody's business but the run's: reading the clock, rolling dice, noting something. */
export async function describeStep(
  task: TaskRecord,
  step: StepEnd,
  reader: ContentReader,
): Promise<SpanFacts | null> {
  const described = await what(step, reader);
  if (described === null) return null;
  const { startedAt, endedAt, ended, key } = step;
  const error = errorOf(ended);
  return {
    ...described,
    traceId: traceIdOf(task),
    spanId: stepSpanId(task.id, key),
    parent: { spanId: taskSpanId(task.id), isRemote: false },
    tracestate: task.trace?.tracestate,
    // A clock that was set back must not make a span that ends before it begins.
    startedAt: startedAt < endedAt ? startedAt : endedAt,
    endedAt,
    attributes: {
      ...described.attributes,
      ...ofTask(task),
      "bridle.step.key": keyShown(step),
      ...(ended === null ? { "bridle.step.unfinished": true } : {}),
      ...(error === null ? {} : { "error.type": error.code }),
    },
    error: error === null ? null : { code: error.code, message: await reader.text(error.message) },
    moments: [],
    links: [],
  };
}

async function what(step: StepEnd, reader: ContentReader): Promise<Described | null> {
  const { kind, name, begun, ended } = step;
  const internal = (title: string, attributes: Attributes = {}): Described => ({
    name: title,
    kind: "internal",
    attributes,
  });
  switch (kind) {
    case "llm":
      return (await describeModelCall(step, reader)) ?? internal(`step ${name}`);
    case "tool":
      return await describeTool(step, reader);
    case "mcp":
      return await describeMcp(step, reader);
    case "step":
    case "effect":
      return internal(`step ${name}`);
    // Paths say what work is about.
    case "file":
    case "file_read":
    case "file_list":
    case "sleep":
    case "ask":
      return internal(kind);
    case "approve":
      return internal(kind, approval(ended));
    case "host":
      return { ...internal(`host ${name}`), kind: "client" };
    case "spawn":
      return internal("spawn", known({ "bridle.child_task.id": childOf(begun) }));
    case "handoff":
      return {
        name: "invoke_agent",
        kind: "client",
        attributes: { "gen_ai.operation.name": "invoke_agent", ...addressOf(name) },
      };
    default:
      return null;
  }
}

async function describeTool(step: StepEnd, reader: ContentReader): Promise<Described> {
  const call = callIn(step.ended) ?? callIn(step.begun);
  return {
    name: `execute_tool ${step.name}`,
    kind: "internal",
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": step.name,
      "gen_ai.tool.type": "function",
      ...known({
        "gen_ai.tool.call.id": call?.call_id,
        "bridle.tool.effect": call?.effect,
        "gen_ai.tool.call.arguments": await reader.sealed(call?.input),
        "gen_ai.tool.call.result": await reader.sealed(outputOf(step.ended)),
      }),
    },
  };
}

/** A list of tools is asked for under a name that no tool can have. */
async function describeMcp(step: StepEnd, reader: ContentReader): Promise<Described> {
  const [, server = "", list] = /^(.+)\.(tools\/list)$/.exec(step.name) ?? [];
  const of = { "mcp.method.name": list ?? "tools/call" };
  if (list !== undefined) return { name: `${list} ${server}`, kind: "client", attributes: of };
  const { name, attributes } = await describeTool(step, reader);
  return { name, kind: "client", attributes: { ...attributes, ...of, "gen_ai.tool.type": "extension" } };
}

function ofTask({ id, session_id }: TaskRecord): Attributes {
  return { "gen_ai.conversation.id": session_id, "bridle.task.id": id };
}

/** The key of a file's step has its path in it. */
function keyShown({ key, kind }: StepEnd): string {
  return kind.startsWith("file") ? kind : key;
}

function parentOf({ trace, parent_task_id }: TaskRecord): SpanFacts["parent"] {
  const spanId = trace?.traceparent.split("-")[2];
  return spanId === undefined ? null : { spanId, isRemote: parent_task_id === null };
}

function errorOf(ended: KernelEvent | null): { code: string; message: string } | null {
  if (ended?.event !== "span.completed" && ended?.event !== "span.failed") return null;
  return "error" in ended.payload.result ? ended.payload.result.error : null;
}

function callIn(event: KernelEvent | null) {
  const isSpan =
    event?.event === "span.started" || event?.event === "span.completed" || event?.event === "span.failed";
  return isSpan ? event.payload.tool_call : undefined;
}

function outputOf(ended: KernelEvent | null) {
  if (ended?.event !== "span.completed") return undefined;
  return "output" in ended.payload.result ? ended.payload.result.output : undefined;
}

function approval(ended: KernelEvent | null): Attributes {
  return ended?.event === "user.tool_confirmation" ? { "bridle.approved": ended.payload.approved } : {};
}

function childOf(begun: KernelEvent | null): string | undefined {
  return begun?.event === "span.started" ? begun.payload.child_task_id : undefined;
}

/** Where the remote agent is, without what its address may say beside that. */
function addressOf(url: string): Attributes {
  const { hostname, port } = URL.parse(url) ?? {};
  return known({ "server.address": hostname, "server.port": port ? Number(port) : null });
}

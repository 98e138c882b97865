/** The journal of a task in the words of a test: what each step was about, and what it gave. */

import { type Content, unseal } from "../kernel/core/content.ts";
import { asRecorded, type RecordedEvent } from "../kernel/core/events.ts";
import { readLog } from "../kernel/core/log-tail.ts";
import { type Part, textOf } from "../kernel/kinds/message.ts";
import type { StepResult } from "../kernel/kinds/task.ts";
import { stepMark } from "../kernel/tasks/steps.ts";
import type { JsonValue, TenantStore } from "../store/port.ts";

export interface JournalStep {
  /** `step:collect:1` */
  key: string;
  /** What the key begins with: `step`, `ask`, `say`, … */
  kind: string;
  /** The name of the step; the question, the action, or the text, where people are spoken to. */
  name: string;
  input?: JsonValue;
  output?: JsonValue;
  error?: { code: string; message: string };
  /** The attempts that failed and were repeated. */
  retried?: { attempt: number; code: string; message: string }[];
}

/** The steps in the order in which they were begun. */
export async function readJournal(store: TenantStore, taskId: string): Promise<JournalStep[]> {
  const steps = new Map<string, JournalStep>();
  for await (const page of readLog(store, { taskId, after: 0 })) {
    for (const event of page.map(asRecorded)) {
      const mark = stepMark(event);
      if (mark === null) continue;
      const known = steps.get(mark.key) ?? { key: mark.key, kind: mark.key.split(":")[0] ?? "", name: "" };
      const more = await told(store, event);
      const retried = [...(known.retried ?? []), ...(more.retried ?? [])];
      steps.set(mark.key, { ...known, ...more, ...(retried.length === 0 ? {} : { retried }) });
    }
  }
  return [...steps.values()];
}

/** What an event says of its step. */
async function told(store: TenantStore, event: RecordedEvent): Promise<Partial<JournalStep>> {
  switch (event.event) {
    case "span.started": {
      const { name, host_call, tool_call } = event.payload;
      return { name, ...(await inputOf(store, host_call ?? tool_call)) };
    }
    case "span.completed":
    case "span.failed": {
      const { name, tool_call, result } = event.payload;
      return { name, ...(await inputOf(store, tool_call)), ...(await resultOf(store, result)) };
    }
    case "vendor.bridle.step.attempt_failed": {
      const { name, attempt, error } = event.payload;
      return { name, retried: [{ attempt, ...error }] };
    }
    case "span.updated":
      return { name: event.payload.message ?? "" };
    case "task.input_required": {
      const { prompt, schema } = event.payload.request;
      return { name: prompt, ...(schema === null ? {} : { input: schema }) };
    }
    case "task.auth_required": {
      const { prompt, permission_request_id: id } = event.payload.request;
      return { name: prompt, ...(await payloadOf(store, id ?? "")) };
    }
    case "user.input_submitted":
      return { output: await answerIn(store, event.payload.message_id) };
    case "user.tool_confirmation": {
      const { approved, reason } = event.payload;
      return { output: reason === null ? { approved } : { approved, reason } };
    }
    case "agent.message":
      return { name: textOf(await unseal(event.payload.message.parts, store)) };
    case "artifact.created":
      return { name: event.payload.artifact.name ?? "" };
    default:
      return {};
  }
}

async function inputOf(
  store: TenantStore,
  call: { input: Content<JsonValue> } | undefined,
): Promise<Partial<JournalStep>> {
  return call === undefined ? {} : { input: await unseal(call.input, store) };
}

async function resultOf(store: TenantStore, result: StepResult): Promise<Partial<JournalStep>> {
  return "error" in result ? { error: result.error } : { output: await unseal(result.output, store) };
}

async function payloadOf(store: TenantStore, permissionRequestId: string): Promise<Partial<JournalStep>> {
  const document = await store.get("permission_request", permissionRequestId);
  const body = document?.body as { request?: { payload?: JsonValue } } | undefined;
  const payload = body?.request?.payload;
  return payload == null ? {} : { input: payload };
}

async function answerIn(store: TenantStore, messageId: string): Promise<JsonValue> {
  const document = await store.get("message", messageId);
  if (document === undefined) return null;
  const { parts } = document.body as { parts: Parameters<typeof unseal<Part[]>>[0] };
  return contentOf(await unseal(parts, store));
}

/** The JSON of a message, or its text. */
export function contentOf(parts: readonly Part[]): JsonValue {
  const json = parts.find((part) => part.type === "json");
  return json === undefined ? textOf(parts) : json.value;
}

const shownCharsMax = 120;

/** A line for each step, for messages of tests that fail. */
export function showJournal(steps: readonly JournalStep[]): string {
  if (steps.length === 0) return "The journal is empty.";
  const width = Math.max(...steps.map(({ key }) => key.length));
  return steps.map((step) => `  ${step.key.padEnd(width)}  ${showStep(step)}`.trimEnd()).join("\n");
}

function showStep({ key, name, output, error }: JournalStep): string {
  // A step is mostly named after what its key says already.
  const about = key.split(":").slice(1, -1).join(":") === name ? "" : short(name);
  const gave =
    error === undefined
      ? output === undefined
        ? ""
        : `→ ${short(JSON.stringify(output))}`
      : `✗ ${error.code}: ${short(error.message)}`;
  return [about, gave].filter((text) => text !== "").join(" ");
}

function short(text: string): string {
  const line = text.replaceAll("\n", "⏎");
  return line.length > shownCharsMax ? `${line.slice(0, shownCharsMax)}…` : line;
}

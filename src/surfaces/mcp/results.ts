/** A task as the result of a tool: what it gave, why it gave nothing, or what it waits for. */

import type { CallToolResult } from "@modelcontextprotocol/server";
import { Errors } from "typebox/schema";
import { unsealShown } from "../../kernel/core/content.ts";
import { asRecorded } from "../../kernel/core/events.ts";
import { readLog } from "../../kernel/core/log-tail.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { MessageRecord, Part } from "../../kernel/kinds/message.ts";
import { demandsHarp } from "../../kernel/kinds/persona.ts";
import type { PendingRequest, TaskRecord } from "../../kernel/kinds/task.ts";
import { type Caller, mayUse } from "../../policy/caller.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { AgentTool } from "./tools.ts";

/** Of a task that has no result but what was said, the last messages that are told. */
const messagesMax = 200;

export interface Showing {
  kernel: Kernel;
  caller: Caller;
  /** Where people find the server. */
  url: string;
  /** The tool that was called; null when it is asked about a task of any. */
  tool: AgentTool | null;
}

/** `note` is what else is to be said of a task that has not ended. */
export async function resultOf(
  showing: Showing,
  task: TaskRecord,
  note: string | null = null,
): Promise<CallToolResult> {
  switch (task.status) {
    case "COMPLETED":
      return await completed(showing, task);
    case "FAILED":
    case "CANCELED":
      return toolError(task.failure?.message ?? task.outcome?.summary ?? "The task did not succeed.", task);
    default:
      return unfinished(showing, task, note);
  }
}

export function toolError(sentence: string, task: TaskRecord | null = null): CallToolResult {
  return {
    content: [{ type: "text", text: sentence }],
    isError: true,
    ...(task === null ? {} : { _meta: metaOf(task) }),
  };
}

async function completed(showing: Showing, task: TaskRecord): Promise<CallToolResult> {
  const parts = await answerOf(showing, task);
  const text = parts.flatMap(textsOf).join("\n\n");
  const object = parts.map(objectOf).find((value) => value !== null) ?? null;
  const output = showing.tool?.output ?? null;
  if (output !== null) {
    // Clients hold the tool to what it promised, so what is something else can only be said as an error.
    const [, [problem]] = Errors(output, object);
    if (problem !== undefined) {
      return toolError(
        `The agent gave something else than it promised: ${problem.message}.\n\n${text}`,
        task,
      );
    }
  }
  return {
    content: [
      { type: "text", text: text === "" ? (task.outcome?.summary ?? "") : text },
      ...sessionHint(showing, task),
    ],
    ...(object === null ? {} : { structuredContent: object }),
    _meta: metaOf(task),
  };
}

/** A model does not see what is beside the content, and needs the session to go on with it. */
function sessionHint({ tool }: Showing, task: TaskRecord): CallToolResult["content"] {
  if (tool === null || tool.skill !== null) return [];
  const text = `session_id: ${task.session_id}`;
  return [{ type: "text", text, annotations: { audience: ["assistant"], priority: 0 } }];
}

/** What the run gave; of a run that gave nothing, what it said. */
async function answerOf({ kernel, caller }: Showing, task: TaskRecord): Promise<Part[]> {
  if (!mayUse(caller, "messages:read")) return [];
  const { store } = kernel;
  const ids = task.outcome?.message_ids ?? [];
  const results = await Promise.all(ids.map((id) => findVisible(store, caller, "message", id)));
  const given = results.filter((message) => message !== undefined);
  const told = given.length > 0 ? given : await saidIn(kernel, task);
  const parts = await Promise.all(
    told.map(({ parts: content }) => unsealShown(content, store.of(caller.tenantId))),
  );
  return parts
    .flatMap((found) => ("value" in found ? found.value : []))
    .filter(({ visibility }) => visibility === "public");
}

async function saidIn({ store }: Kernel, { id: taskId, tenant_id }: TaskRecord): Promise<MessageRecord[]> {
  const said: MessageRecord[] = [];
  for await (const events of readLog(store.of(tenant_id), { taskId, after: 0 })) {
    for (const event of events.map(asRecorded)) {
      if (event.event === "agent.message") said.push(event.payload.message);
    }
    said.splice(0, said.length - messagesMax);
  }
  return said;
}

function textsOf(part: Part): string[] {
  switch (part.type) {
    case "text":
      return [part.text];
    case "json":
      return [JSON.stringify(part.value)];
    case "file_ref":
      return [part.uri];
    default:
      return [];
  }
}

function objectOf(part: Part): JsonObject | null {
  const value: JsonValue = part.type === "json" ? part.value : null;
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

/** It goes on without whoever asked: all that is needed to come back is said. */
function unfinished(showing: Showing, task: TaskRecord, note: string | null): CallToolResult {
  const { pending } = task;
  const sentences = [
    ...(note === null ? [] : [note]),
    ...(pending === null
      ? working(task)
      : pending.kind === "input"
        ? question(task, pending)
        : approval(showing, task, pending)),
  ];
  const promised = showing.tool?.output ?? null;
  return {
    content: [{ type: "text", text: sentences.join("\n") }],
    _meta: metaOf(task),
    // A tool that promised a structure can say that there is none yet as an error only.
    ...(promised === null ? {} : { isError: true }),
  };
}

function working({ id, parked }: TaskRecord): string[] {
  const state = parked === null ? "is still working" : `goes on later: ${parked.reason}`;
  return [`Task ${id} ${state}. Call get_task with {"task_id":"${id}"} for its result.`];
}

function question({ id }: TaskRecord, { prompt, schema, expires_at }: PendingRequest): string[] {
  return [
    `Task ${id} asks: ${prompt}`,
    ...(schema === null ? [] : [`The answer has to fit this JSON Schema: ${JSON.stringify(schema)}`]),
    `It waits until ${expires_at}. Answer with answer_task {"task_id":"${id}","answer":…}; the result comes with that call.`,
  ];
}

/** No model gives an approval: it is told who does, and where. */
function approval(
  { url }: Showing,
  task: TaskRecord,
  { prompt, permission_request_id, expires_at }: PendingRequest,
): string[] {
  const where = demandsHarp(task.policy.approval_policy)
    ? "with the signature of a paired approver, and in no other way"
    : `at ${url}/v1/permission-requests/${permission_request_id}/respond, or with a paired approver`;
  return [
    `Task ${task.id} needs the approval of a person: ${prompt}`,
    `A person has to decide, ${where}. It cannot be given with a tool. It waits until ${expires_at}.`,
    `Afterwards get_task with {"task_id":"${task.id}"} has the result.`,
  ];
}

function metaOf({ id, session_id, status, outcome }: TaskRecord): Record<string, unknown> {
  return { "bridle/task": { task_id: id, session_id, status, receipt_id: outcome?.receipt_id ?? null } };
}

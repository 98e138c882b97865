/**
 * Send a message to an agent: it goes on with the task that it names, or starts one, in the conversation that it names
 * or in a new one. One commit, whatever of this has to be made.
 */

import type { Caller } from "../../policy/caller.ts";
import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import { sha256Hex } from "../core/content.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { TraceContext } from "../core/trace.ts";
import type { Unit } from "../core/unit.ts";
import type { MessageInput } from "../kinds/message.ts";
import type { SessionRecord } from "../kinds/session.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { personaByDefault, personaToCall } from "../personas/session-persona.ts";
import { addPushConfig, type PushConfigInput, webhookFacts } from "../push/create-push-config.ts";
import { appendTaskMessage } from "../tasks/append-task-message.ts";
import { recordQuotaRefusal, submitTask } from "../tasks/submit-task.ts";
import { createSession } from "./create-session.ts";

export interface SendMessage {
  /** The agent that it is for; null leaves that to the conversation, or to the tenant's default. */
  agent: string | null;
  contextId: string | null;
  taskId: string | null;
  /** The ids that a task and a session get which it starts. */
  newTaskId?: string | undefined;
  newSessionId?: string | undefined;
  message: MessageInput;
  metadata?: JsonObject | undefined;
  trace: TraceContext | null;
  /** A webhook that is told what becomes of it, from its beginning. */
  pushConfig?: PushConfigInput | undefined;
}

/** The task that the message is for: as it is now, or by its id alone when the same message came again. */
export interface SentMessage {
  id: string;
  task: TaskRecord | null;
}

export const sendMessage: Command<SendMessage, SentMessage> = {
  name: "send_message",
  scope: "tasks:write",
  isRecognizedByCommit: true,
  forRecord: ({ id }) => ({ id, task: null }),
  // A webhook that comes with a new task is part of its submission.
  audit: ({ taskId, pushConfig }, { id }) =>
    taskId === null || pushConfig === undefined
      ? null
      : audited("webhook.create", { object: "task", id }, webhookFacts(taskId, pushConfig.url)),
  decide(unit, request) {
    const { taskId, pushConfig } = request;
    const task = taskId === null ? begin(unit, request) : goOn(unit, request, taskId);
    if (pushConfig !== undefined) addPushConfig(unit, task, pushConfig);
    return { id: task.id, task };
  },
  refused: recordQuotaRefusal,
};

function goOn(unit: Unit, request: SendMessage, taskId: string): TaskRecord {
  const { agent, contextId, message } = request;
  const task = unit.require("task", taskId);
  if (agent !== null && task.agent.name !== agent) throw notFound("task", taskId);
  if (contextId !== null && contextId !== contextIdOf(task)) {
    throw new HarnessError("invalid_request", "The task belongs to another context.", {
      param: "message.contextId",
    });
  }
  // What is said while nothing was asked is there for a run that looks into the transcript.
  const kind = task.pending?.kind === "input" ? "input" : "interrupt";
  appendTaskMessage.decide(unit, { taskId, kind, message });
  return unit.require("task", taskId);
}

function begin(unit: Unit, request: SendMessage): TaskRecord {
  const { agent, message, metadata, trace, newTaskId } = request;
  if (agent !== null && unit.deps.agents.find(agent) === undefined) throw notFound("agent", agent);
  const session = conversation(unit, request);
  const personaId = agent === null ? personaByDefault(unit, session) : personaToCall(unit, agent, session);
  return submitTask.decide(unit, {
    sessionId: session.id,
    taskId: newTaskId,
    personaId,
    input: { message },
    metadata,
    trace,
  });
}

function conversation(unit: Unit, { contextId, newSessionId }: SendMessage): SessionRecord {
  const workspaceId = workspaceFor(unit);
  if (contextId === null) return createSession.decide(unit, { workspaceId, sessionId: newSessionId });
  const sessionId = sessionIdOf(unit.caller, contextId);
  const known = unit.find("session", sessionId);
  if (known !== undefined) return known;
  if (isOurs(contextId)) {
    throw new HarnessError("invalid_request", "There is no such context here.", {
      param: "message.contextId",
    });
  }
  return createSession.decide(unit, { workspaceId, sessionId, contextId });
}

/** The tenant's own, or the first of those that the caller is bound to. */
export function workspaceFor(unit: Unit): string {
  const { tenantId, workspaceIds } = unit.caller;
  const tenant = unit.findAsSystem("tenant", tenantId);
  if (tenant === undefined) throw notFound("tenant", tenantId);
  const usual = tenant.default_workspace_id;
  if (workspaceIds === null || workspaceIds.includes(usual)) return usual;
  const [first] = workspaceIds;
  if (first === undefined) throw notFound("workspace", usual);
  return first;
}

/** What clients call the conversation that a task belongs to. */
export function contextIdOf({ context_id, session_id }: TaskRecord): string {
  return context_id ?? session_id;
}

/** The session behind the name that a client gives to a conversation. */
export function sessionIdOf(caller: Caller, contextId: string): string {
  return isOurs(contextId) ? contextId : adoptedSessionId(caller, contextId);
}

/** Whether a context was given out here. */
export function isOurs(contextId: string): boolean {
  return contextId.startsWith("session_");
}

/** A name that a client made up is its own: others may use the same without meeting. */
export function adoptedSessionId(
  { tenantId, workspaceIds }: Pick<Caller, "tenantId" | "workspaceIds">,
  contextId: string,
): string {
  const owner = workspaceIds === null ? null : [...workspaceIds].sort();
  return `session_ctx_${sha256Hex(JSON.stringify([tenantId, owner, contextId])).slice(0, 32)}`;
}

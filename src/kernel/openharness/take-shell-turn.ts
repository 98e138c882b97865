/**
 * Take a request of a shell: it starts a run in the conversation that it names, or goes on with the run that its
 * continuation is for. One commit, with everything that the shell brings; a repeated request is recognized by dispatch.
 */

import { randomBytes } from "node:crypto";
import type { JsonObject } from "../../store/port.ts";
import { sha256Hex } from "../core/content.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { TraceContext } from "../core/trace.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { type ShellIdentity, type ShellLinkRecord, shellLinkIdOf } from "../kinds/shell-link.ts";
import { personaByDefault } from "../personas/session-persona.ts";
import { createSession } from "../sessions/create-session.ts";
import { workspaceFor } from "../sessions/send-message.ts";
import { cancelTask, cancelTasks } from "../tasks/cancel-task.ts";
import { isFinal } from "../tasks/lifecycle.ts";
import { recordQuotaRefusal, submitTask } from "../tasks/submit-task.ts";
import { currentMasterKey } from "../vaults/vaults.ts";
import { acceptTurn, type TurnInput } from "./accept-turn.ts";
import { type Continuation, callerName, requireContinued } from "./continuations.ts";
import { type GivenEnvironment, protectGiven, recordEnvironment } from "./environments.ts";
import { messageOf } from "./intents.ts";
import { requireSop } from "./sops.ts";

/** What a shell calls a conversation. `owner` tells apart those of different people behind one key. */
export interface ConversationName {
  owner: string | null;
  sessionId: string;
  conversationId: string | null;
}

export interface TakeShellTurn extends TurnInput {
  continuation: Continuation | null;
  conversation: ConversationName | null;
  sop: { name: string; param: string } | null;
  hint: JsonObject;
  identity: ShellIdentity;
  /** What it asks for; null keeps what it asked for before. */
  capabilities: string[] | null;
  environment: GivenEnvironment | null;
  cancel: { reason: string | null } | null;
  /** The id that a run gets which it starts. */
  newTaskId: string;
  trace: TraceContext | null;
}

export interface TakenTurn {
  task_id: string;
  session_id: string;
  turn: number;
  /** What came too late. */
  not_taken: string[];
}

export const takeShellTurn: Command<TakeShellTurn, TakenTurn> = {
  name: "take_shell_turn",
  scope: "tasks:write",
  decide: (unit, request) =>
    request.continuation === null ? begin(unit, request) : resume(unit, request, request.continuation),
  async afterwards(deps, caller, { task_id: taskId }, { cancel }) {
    if (cancel !== null)
      await cancelTasks(deps, caller, { taskId }, `The parent task ${taskId} was canceled.`);
  },
  refused: recordQuotaRefusal,
  // A plain hash of a request with a short secret in it is as good as the secret.
  fingerprint(deps, canonical) {
    if (!canonical.includes('"privacy_tier":"secret"')) return sha256Hex(canonical);
    currentMasterKey(deps);
    return deps.masterKeys.fingerprint(canonical);
  },
};

function begin(unit: Unit, request: TakeShellTurn): TakenTurn {
  const { sop, intent, attachments, identity, hint, environment, newTaskId, trace } = request;
  if (intent === null && attachments.length === 0) {
    throw new HarnessError("invalid_request", "A run begins with a user_intent or attachments.", {
      param: "request.context.user_intent",
    });
  }
  const persona = sop === null ? null : requireSop(unit, sop.name, sop.param);
  protectGiven(unit, environment, ownWords(unit, newTaskId, persona));
  const session = conversationOf(unit, request.conversation);
  const task = submitTask.decide(unit, {
    sessionId: session.id,
    taskId: newTaskId,
    personaId: persona?.id ?? personaByDefault(unit, session),
    input: { message: messageOf(unit, intent, attachments) },
    shell: { identity, hint },
    trace,
  });
  const link: ShellLinkRecord = {
    ...unit.envelope("shell_link", "shell"),
    id: shellLinkIdOf(task.id),
    metadata: {},
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    caller: callerName(unit.caller),
    seed: randomBytes(32).toString("hex"),
    told: null,
    turn: 1,
    identity,
    capabilities: request.capabilities ?? [],
    environment: environment === null ? null : recordEnvironment(unit, task.id, environment),
  };
  unit.emit(link, "vendor.bridle.shell_link.created", { shell_link: link });
  return { task_id: task.id, session_id: task.session_id, turn: 1, not_taken: [] };
}

function resume(unit: Unit, request: TakeShellTurn, continuation: Continuation): TakenTurn {
  const { identity, environment, cancel } = request;
  if (cancel !== null) cancelContinued(unit, continuation, cancel.reason);
  const link = requireContinued(unit, continuation);
  const task = unit.require("task", link.task_id);
  protectGiven(unit, environment, task);
  const capabilities = request.capabilities ?? link.capabilities;
  const not_taken = acceptTurn(unit, link, request, capabilities);
  const turn = link.turn + 1;
  unit.emit(link, "vendor.bridle.shell_link.turn_taken", {
    turn: {
      turn,
      identity: { ...link.identity, ...identity },
      capabilities,
      environment: environment === null ? link.environment : recordEnvironment(unit, task.id, environment),
    },
  });
  return { task_id: task.id, session_id: task.session_id, turn, not_taken };
}

/** First of all: a cancellation waits for its turn with the task before it is loaded. */
function cancelContinued(unit: Unit, continuation: Continuation, reason: string | null): void {
  const { task_id: taskId } = requireContinued(unit, { ...continuation, sopId: null });
  const task = unit.peek("task", taskId);
  if (task !== undefined && !isFinal(task.status)) cancelTask.decide(unit, { taskId, reason });
}

/** What the record of the run will say of itself. */
function ownWords(unit: Unit, taskId: string, persona: PersonaRecord | null): object {
  const { tenantId, actor, workspaceIds } = unit.caller;
  return [taskId, tenantId, actor, workspaceIds, persona];
}

function conversationOf(unit: Unit, name: ConversationName | null): SessionRecord {
  const workspaceId = workspaceFor(unit);
  if (name === null) return createSession.decide(unit, { workspaceId });
  const sessionId = sessionIdOf(unit, name);
  const known = unit.find("session", sessionId);
  return known ?? createSession.decide(unit, { workspaceId, sessionId });
}

/** Equal names of two tenants, or of keys that see different workspaces, are different conversations. */
function sessionIdOf({ caller }: Unit, { owner, sessionId, conversationId }: ConversationName): string {
  const { tenantId, workspaceIds } = caller;
  const place = [tenantId, workspaceIds === null ? null : [...workspaceIds].sort()];
  return `session_shell_${sha256Hex(JSON.stringify([place, owner, sessionId, conversationId])).slice(0, 32)}`;
}

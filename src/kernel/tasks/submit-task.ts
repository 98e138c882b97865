/** Submit a task: accepted means on disk. Called by every surface, and by the runtime when a run spawns a child. */

import type { Caller } from "../../policy/caller.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { type TraceContext, traceOfStep, traceOfTask } from "../core/trace.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import type { BranchRecord } from "../kinds/branch.ts";
import type { MessageInput } from "../kinds/message.ts";
import { type PersonaRecord, policyOf, stricterPolicy, type TaskPolicy } from "../kinds/persona.ts";
import type { SessionRecord } from "../kinds/session.ts";
import type { TaskShell } from "../kinds/shell-link.ts";
import { callerAsSubmitter, type Submitter } from "../kinds/submitter.ts";
import { submitterOf, type TaskInput, type TaskRecord, unstarted } from "../kinds/task.ts";
import type { AgentInfo } from "../personas/agents.ts";
import { requireHandoff } from "../personas/persona-policy.ts";
import { personaFor } from "../personas/rollout.ts";
import { assertSessionPersona } from "../personas/session-persona.ts";
import { applicableQuotas } from "../quotas/applicable.ts";
import { noteExhaustion } from "../quotas/change-quotas.ts";
import { admitTask } from "../quotas/ledger.ts";
import { QuotaRefusal } from "../quotas/refusal.ts";
import { assertOpen } from "../sessions/branches.ts";
import { assertFitsAgent, assertFitsSkill } from "../skills/skills.ts";
import { appendMessage } from "./tasks.ts";

export interface SubmitTask {
  sessionId: string;
  workspaceId?: string | undefined;
  personaId?: string | null | undefined;
  branchId?: string | null | undefined;
  parentTaskId?: string | null | undefined;
  /** The step of the parent's run that waits for the result. */
  parentStep?: string | undefined;
  /** The name of the task, where it has one before it is submitted. */
  taskId?: string | undefined;
  input: { message: MessageInput } | { payload: JsonObject };
  metadata?: JsonObject | undefined;
  /** Who set up the connector or schedule that submits it and names the persona; null when that is not known. */
  configuredBy?: Submitter | null;
  /** The shell that it comes from. */
  shell?: TaskShell | undefined;
  trace?: TraceContext | null | undefined;
}

export const submitTask: Command<SubmitTask, TaskRecord> = {
  name: "submit_task",
  scope: "tasks:write",
  decide(unit, request) {
    const session = openSession(unit, request.sessionId);
    if (request.workspaceId !== undefined && request.workspaceId !== session.workspace_id) {
      throw new HarnessError("invalid_request", "The session belongs to another workspace.", {
        param: "workspace_id",
      });
    }
    // A run hands work on as its persona allows; the operator's schedules and connectors say themselves to whom.
    const isBound = request.parentStep === undefined && request.configuredBy === undefined;
    if (isBound) assertSessionPersona(session, request.personaId ?? null);
    const persona = personaFor(personaOf(unit, request.personaId ?? session.persona_id), session.id);
    const agent = agentOf(unit, persona);
    const branch = branchOf(unit, request.branchId ?? null, session);
    assertFitsSkill(unit, persona.entry_workflow, request.metadata?.skill_id, request.input);
    assertFitsAgent(agent, request.input);
    const parent = request.parentTaskId == null ? null : unit.require("task", request.parentTaskId);
    if (parent !== null) requireHandoff(parent, persona.id);
    const quotaIds = applicableQuotas(unit, persona, session.workspace_id);

    const fresh = unit.envelope("task", "task");
    const envelope = { ...fresh, id: request.taskId ?? fresh.id };
    const task: TaskRecord = {
      ...envelope,
      metadata: request.metadata ?? {},
      workspace_id: session.workspace_id,
      session_id: session.id,
      ...unstarted(unit.at),
      input: takeInput(unit, session, envelope.id, request.input),
      created_by: unit.caller.actor,
      submitter: submitterFor(unit, request, parent),
      persona_id: persona.id,
      branch_id: branch?.id ?? session.branch_id,
      parent_task_id: request.parentTaskId ?? null,
      parent_step: request.parentStep ?? null,
      agent: { name: persona.entry_workflow, version: null },
      replay: null,
      policy: policyIn(unit, session, request.metadata?.skill_id, policyOf(persona, parent?.policy ?? null)),
      quota_ids: quotaIds,
      ...(session.context_id === undefined ? {} : { context_id: session.context_id }),
      ...(request.shell === undefined ? {} : { shell: request.shell }),
      ...traceFor(unit, request, parent),
    };
    if (quotaIds.length > 0) admitTask(unit, quotaIds, task.id);
    return unit.emit(task, "task.submitted", { task });
  },
  refused: recordQuotaRefusal,
};

/** Who looks at the quota sees that somebody was refused. */
export async function recordQuotaRefusal(
  deps: KernelDeps,
  caller: Caller,
  refusal: HarnessError,
): Promise<void> {
  if (!(refusal instanceof QuotaRefusal)) return;
  await runCommand(deps, noteExhaustion, caller, { quotaId: refusal.quotaId });
}

/** Work that is handed on stays in the trace that it came with, under the step that hands it on. */
function traceFor(
  { deps: { tracing } }: Unit,
  { trace, parentStep }: SubmitTask,
  parent: TaskRecord | null,
): Pick<TaskRecord, "trace"> {
  const own = trace ?? (parent === null ? null : inherited(parent));
  return own === null ? {} : { trace: own };

  function inherited(from: TaskRecord): TraceContext | null {
    return parentStep === undefined ? traceOfTask(tracing, from) : traceOfStep(tracing, from, parentStep);
  }
}

/** Only a run inherits from the parent: callers can name any task as parent. */
function submitterFor(
  { caller }: Unit,
  { parentStep, configuredBy }: SubmitTask,
  parent: TaskRecord | null,
): Submitter {
  if (parent !== null && parentStep !== undefined) return submitterOf(parent);
  return configuredBy ?? callerAsSubmitter(caller);
}

/** What the workspace does not have no task may do there; what a skill wants approved is asked for, whatever the persona says. */
function policyIn(
  unit: Unit,
  { workspace_id }: SessionRecord,
  skillId: JsonValue | undefined,
  policy: TaskPolicy,
): TaskPolicy {
  const { capabilities = [] } = unit.peek("workspace", workspace_id) ?? {};
  const skill = typeof skillId === "string" ? unit.find("skill", skillId) : undefined;
  const isAsked = skill?.requires_approval === true;
  if (capabilities.length === 0 && !isAsked) return policy;
  return stricterPolicy(policy, {
    persona_version: policy.persona_version,
    receipt_policy: policy.receipt_policy,
    autonomy_tier: isAsked ? "act_with_approval" : policy.autonomy_tier,
    ...(capabilities.length === 0 ? {} : { capabilities }),
  });
}

/** A session that takes work: at once, or, while it is paused, for later. */
export function openSession(unit: Unit, id: string): SessionRecord {
  const session = unit.require("session", id);
  const { state, expires_at: expiresAt } = session;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) <= unit.deps.clock.now();
  if ((state === "ACTIVE" || state === "PAUSED") && !isExpired) return session;
  throw new HarnessError(
    "conflict",
    `Session ${id} is ${isExpired ? "expired" : state} and takes no more work.`,
    { details: { session_id: id, state } },
  );
}

/** The branch that the work is done on. That of an imported session may be somewhere else. */
function branchOf(unit: Unit, named: string | null, session: SessionRecord): BranchRecord | undefined {
  const branch =
    named !== null
      ? unit.require("branch", named)
      : session.branch_id === null
        ? undefined
        : unit.find("branch", session.branch_id);
  if (branch !== undefined) assertOpen(branch);
  return branch;
}

function personaOf(unit: Unit, personaId: string | null): PersonaRecord {
  const persona = personaId === null ? defaultPersona(unit) : unit.require("persona", personaId);
  assertEnabled(persona);
  return persona;
}

export function assertEnabled({ id, disabled }: PersonaRecord): void {
  if (disabled !== true) return;
  throw new HarnessError(
    "policy_violation",
    `Persona ${id} is disabled: name another persona, or enable it (PATCH /v1/personas/${id}).`,
    { param: "persona_id", details: { rule: "disabled", persona_id: id } },
  );
}

function defaultPersona(unit: Unit): PersonaRecord {
  const { default_persona_id: id } = unit.require("tenant", unit.caller.tenantId);
  if (unit.findAsSystem("persona", id) !== undefined) return unit.require("persona", id);
  throw new HarnessError("invalid_request", "There is no default persona here: name one with persona_id.", {
    param: "persona_id",
  });
}

function agentOf({ deps }: Unit, { id, entry_workflow: name }: PersonaRecord): AgentInfo {
  const agent = deps.agents.find(name);
  if (agent !== undefined) return agent;
  throw new HarnessError(
    "policy_violation",
    `Persona ${id} runs the agent ${JSON.stringify(name)}, which is not loaded here.`,
    { param: "persona_id", details: { loaded_agents: deps.agents.list().map((other) => other.name) } },
  );
}

function takeInput(
  unit: Unit,
  session: SessionRecord,
  taskId: string,
  input: SubmitTask["input"],
): TaskInput {
  if ("payload" in input) return { payload: unit.seal(input.payload) };
  return { message_id: appendMessage(unit, { session, taskId }, input.message).id };
}

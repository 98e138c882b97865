/** Retry a task: a new task that keeps what the failed one recorded, and goes on from the step that failed. */

import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { eventId } from "../core/events.ts";
import type { TraceContext } from "../core/trace.ts";
import type { Unit } from "../core/unit.ts";
import { policyOf, stricterPolicy } from "../kinds/persona.ts";
import { callerAsSubmitter } from "../kinds/submitter.ts";
import { type TaskRecord, unstarted } from "../kinds/task.ts";
import { applicableQuotas } from "../quotas/applicable.ts";
import { admitTask } from "../quotas/ledger.ts";
import { assertEnabled, openSession, recordQuotaRefusal } from "../tasks/submit-task.ts";
import { assertContentHeld } from "./assert-held.ts";
import { planRetry } from "./retry-plan.ts";

export interface RetryTask {
  taskId: string;
  /** The key of the step from which on everything is done again; the one that failed by default. */
  fromStep?: string | undefined;
  trace?: TraceContext | null | undefined;
}

export const retryTask: Command<RetryTask, TaskRecord> = {
  name: "retry_task",
  scope: "tasks:write",
  decide(unit, { taskId, fromStep, trace }) {
    const source = unit.require("task", taskId);
    assertRetryable(source);
    openSession(unit, source.session_id);
    assertContentHeld(unit, source, "retried");
    const persona = unit.require("persona", source.persona_id);
    assertEnabled(persona);
    const plan = unit.awaited(`retry of ${taskId} from ${fromStep ?? "its failure"}`, () =>
      planRetry(unit.own, source, fromStep),
    );
    const quotaIds = applicableQuotas(unit, persona, source.workspace_id);
    const { trace: _, host_calls: __, handoff_ids: ___, signals: ____, ...repeated } = source;
    const task: TaskRecord = {
      ...repeated,
      ...unit.envelope("task", "task"),
      metadata: source.metadata,
      ...unstarted(unit.at),
      agent: agentOf(unit, source),
      created_by: unit.caller.actor,
      submitter: callerAsSubmitter(unit.caller),
      parent_task_id: source.id,
      parent_step: null,
      retry_of: {
        task_id: source.id,
        first_task_id: source.retry_of?.first_task_id ?? source.id,
        from_step: plan.step,
      },
      policy: stricterPolicy(policyOf(persona, null), source.policy),
      quota_ids: quotaIds,
      ...(trace == null ? {} : { trace }),
    };
    if (quotaIds.length > 0) admitTask(unit, quotaIds, task.id);
    const submitted = unit.emit(task, "task.submitted", { task });
    for (const event of plan.events) {
      unit.copy(submitted, event, {
        is_copy: true,
        source_task_id: source.id,
        mode: "exact",
        original_event_id: eventId(event.position),
      });
    }
    return submitted;
  },
  refused: recordQuotaRefusal,
};

function assertRetryable({ id, status, replay, imported }: TaskRecord): void {
  if (status !== "FAILED" && status !== "CANCELED") {
    const message = `Task ${id} is ${status}; only a task that failed or was canceled can be retried.`;
    throw new HarnessError("invalid_state_transition", message, { details: { task_id: id, status } });
  }
  if (replay !== null)
    throw new HarnessError(
      "policy_violation",
      `Task ${id} is a replay; retry ${replay.source_task_id} instead.`,
    );
  if (imported !== undefined)
    throw new HarnessError("policy_violation", `Task ${id} was imported; submit it again to run it here.`);
}

/** The version that ran, while it is loaded; otherwise the newest. */
function agentOf(unit: Unit, { agent: { name, version } }: TaskRecord): TaskRecord["agent"] {
  const isLoaded = version !== null && unit.deps.agents.has(name, version);
  if (isLoaded || unit.deps.agents.has(name, null)) return { name, version: isLoaded ? version : null };
  throw new HarnessError("policy_violation", `The retry needs the agent ${name}, which is not loaded here.`, {
    details: { loaded_agents: unit.deps.agents.list().map((agent) => agent.name) },
  });
}

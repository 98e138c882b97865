/** Replay a task: a new task that runs the log of one that has ended, perhaps with other values in some places. */

import { textsIn } from "../../policy/redact/texts-in.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { TraceContext } from "../core/trace.ts";
import type { Unit } from "../core/unit.ts";
import { policyOf, stricterPolicy, type TaskPolicy } from "../kinds/persona.ts";
import { actingKinds, type LiveKind } from "../kinds/replay.ts";
import { callerAsSubmitter } from "../kinds/submitter.ts";
import { type TaskRecord, unstarted } from "../kinds/task.ts";
import { admitTask } from "../quotas/ledger.ts";
import { isFinal } from "../tasks/lifecycle.ts";
import { assertEnabled } from "../tasks/submit-task.ts";
import { assertContentHeld } from "./assert-held.ts";
import { type Planned, planReplay, type ReplayRequest } from "./plan.ts";

export interface ReplayTask extends ReplayRequest {
  taskId: string;
  metadata?: JsonObject | undefined;
  trace?: TraceContext | null | undefined;
}

export const replayTask: Command<ReplayTask, TaskRecord> = {
  name: "replay_task",
  scope: "tasks:write",
  audit: ({ taskId }, task) => {
    const live = task.replay?.allow_live ?? [];
    return live.length === 0 ? null : audited("task.replay_live", task, { source_task_id: taskId, live });
  },
  decide(unit, request) {
    const source = unit.require("task", request.taskId);
    assertReplayable(source);
    // A replay is of the code that ran, unless the request is for another version.
    const agent = { ...source.agent, version: request.agentVersion ?? source.agent.version };
    assertLoaded(unit, agent);
    const root = source.replay === null ? source : unit.require("task", source.replay.source_task_id);
    assertContentHeld(unit, root);
    const { plan, substitutions, secrets } = planOf(unit, source, root, request);
    // A secret may stand elsewhere in the request too.
    unit.redactor = unit.redactor.with([...secrets.values()].flatMap(textsIn));
    const isLive = plan.allow_live.length > 0;
    const { trace: _, imported: __, ...repeated } = source;
    const task: TaskRecord = {
      ...repeated,
      ...unit.envelope("task", "task"),
      metadata: request.metadata ?? {},
      ...unstarted(unit.at),
      agent,
      created_by: unit.caller.actor,
      submitter: callerAsSubmitter(unit.caller),
      parent_task_id: source.id,
      parent_step: null,
      replay: { ...plan, substitutions: unit.seal(substitutions) },
      policy: isLive ? livePolicy(unit, source, plan.allow_live, Object.keys(substitutions)) : source.policy,
      // What comes from the log uses nothing.
      quota_ids: isLive ? source.quota_ids : [],
      // It is the work of whoever asks for it, and not of those who asked for its source.
      ...(request.trace == null ? {} : { trace: request.trace }),
    };
    admitTask(unit, task.quota_ids, task.id);
    unit.beforeCommit(() => unit.deps.replaySecrets.keep(task.id, secrets));
    return unit.emit(task, "task.submitted", { task });
  },
};

/** What really runs does so under the stricter of what its persona allows now and allowed then. */
function livePolicy(
  unit: Unit,
  source: TaskRecord,
  allowLive: readonly LiveKind[],
  substituted: string[],
): TaskPolicy {
  requireScope(unit.caller, "replays:live");
  if (source.imported !== undefined) {
    throw new HarnessError(
      "policy_violation",
      `Task ${source.id} was imported: it can be replayed from its log, and nothing of it runs here.`,
      { param: "metadata.allow_live" },
    );
  }
  const persona = unit.require("persona", source.persona_id);
  assertEnabled(persona);
  const acting = allowLive.filter((kind) => actingKinds.has(kind));
  if (acting.length > 0 && substituted.some((step) => step.startsWith("llm:"))) {
    throw new HarnessError(
      "policy_violation",
      `Nothing is done because of an answer that no model gave: leave ${acting.join(", ")} out of allow_live, or the override of llm.`,
      { param: "metadata.allow_live" },
    );
  }
  return stricterPolicy(policyOf(persona, source.policy), source.policy);
}

function assertReplayable(source: TaskRecord): void {
  if (!isFinal(source.status)) {
    throw new HarnessError(
      "conflict",
      `Task ${source.id} is ${source.status}; only what has ended can be replayed.`,
      {
        details: { task_id: source.id, status: source.status },
      },
    );
  }
  if (source.replay === null) return;
  const { source_task_id, allow_live, secret_overrides } = source.replay;
  if (allow_live.length + Object.keys(secret_overrides).length === 0) return;
  throw new HarnessError(
    "conflict",
    `Task ${source.id} is a replay with live steps or given secrets, which cannot be repeated; replay its source ${source_task_id}.`,
    { details: { task_id: source.id, source_task_id } },
  );
}

/** A replay that is replayed is its source's replay with the same values, and those of the request. */
function planOf(unit: Unit, source: TaskRecord, root: TaskRecord, request: ReplayTask): Planned {
  if (source.replay === null) return planReplay(unit, source, request);
  const { mode, checkpoint, substitutions } = source.replay;
  const inherited = { mode, checkpoint, substitutions: unit.unseal(substitutions) };
  const { version } = source.agent;
  const other = version === null || version === root.agent.version ? {} : { agentVersion: version };
  return planReplay(unit, root, request, { ...inherited, ...other });
}

function assertLoaded(unit: Unit, { name, version }: TaskRecord["agent"]): void {
  if (!unit.deps.agents.has(name, version)) {
    const dependency = { kind: "agent", key: version === null ? name : `${name}@${version}` };
    throw new HarnessError(
      "policy_violation",
      `The replay needs the agent ${dependency.key}, which is not loaded here.`,
      {
        details: {
          dependency,
          loaded_agents: unit.deps.agents.list().map((agent) => `${agent.name}@${agent.version}`),
        },
      },
    );
  }
}

/** Replays that may be waiting with a secret at once; the oldest of more lose theirs and say so. */
const keptMax = 1000;

/** Secrets given with a replay, for as long as it runs. They are never written: a replay that outlives the process fails. */
export class ReplaySecrets {
  readonly #byTask = new Map<string, ReadonlyMap<string, JsonValue>>();

  keep(taskId: string, secrets: ReadonlyMap<string, JsonValue>): void {
    if (secrets.size === 0) return;
    this.#byTask.set(taskId, secrets);
    const [oldest] = this.#byTask.keys();
    if (this.#byTask.size > keptMax && oldest !== undefined) this.#byTask.delete(oldest);
  }

  of(taskId: string): ReadonlyMap<string, JsonValue> {
    return this.#byTask.get(taskId) ?? new Map();
  }

  forget(taskId: string): void {
    this.#byTask.delete(taskId);
  }
}

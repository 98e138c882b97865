/**
 * The receipt of a replay. Every field is a function of the source's log and of what was put in its place, so that equal
 * replays have equal receipts: its names come from the replay's own hash, its times from the source.
 */

import { hashOf } from "../../receipts/canonical.ts";
import type { Receipt, ReceiptDelta, Redaction, ReplayMaterial } from "../../receipts/schema.ts";
import { receiptSchemaVersion } from "../../receipts/schema.ts";
import type { TenantStore } from "../../store/port.ts";
import { unseal } from "../core/content.ts";
import { asKernelEvent, type KernelEvent } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import type { ReceiptRecord } from "../kinds/receipt.ts";
import { deltaIdOf, type ReplayPlan, type Substitution } from "../kinds/replay.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { lifecycleTimes } from "../replay/plan.ts";
import { stepMark } from "../tasks/steps.ts";
import { failureCuts, failureIn, identifiersOf, logMaterial, type ReceiptDraft, trustOf } from "./drafts.ts";
import type { ReceiptedEnding } from "./due.ts";
import { TaskFacts } from "./facts.ts";
import { noModel } from "./model-facts.ts";

/** Deltas listed one by one; an override of a name can stand for any number of steps. */
const deltasMax = 1000;

export interface EndedReplay {
  task: TaskRecord;
  plan: ReplayPlan;
  ending: ReceiptedEnding;
  /** The events of the replay, to its end. */
  history: AsyncIterable<readonly KernelEvent[]>;
}

export interface ReplayReceipt {
  draft: ReceiptDraft;
  /** A replay continues from the receipt of its source, wherever it is run. */
  previousHash: string | null;
}

export async function draftReplayReceipt(
  store: TenantStore,
  receiptId: string,
  { task, plan, ending, history }: EndedReplay,
): Promise<ReplayReceipt> {
  const source = await requireTask(store, plan.source_task_id);
  const substitutions = await unseal(plan.substitutions, store);
  const secretSteps = Object.keys(plan.secret_overrides);
  const { logged, restored } = await readSource(store, plan);
  const replayed = new TaskFacts();
  const given = [
    ...lifecycleDeltas(source, substitutions),
    ...Object.entries(plan.secret_overrides).map(secretDelta),
  ];
  const deltas: SteppedDelta[] = [];
  let deltaCount = given.length;
  for await (const events of history) {
    for (const event of events) {
      replayed.add(event);
      const delta = deltaOf(event);
      if (delta === null) continue;
      deltaCount += 1;
      if (deltas.length + given.length < deltasMax) deltas.push(delta);
    }
  }
  const draft: ReceiptDraft = {
    schema: receiptSchemaVersion,
    receipt_id: receiptId,
    subject: { object: "replay_segment", id: `task_replay_${plan.segment}` },
    issued_at: endedAt(source),
    identifiers: identifiersOf(source),
    lifecycle: lifecycleOf(source, substitutions, ending),
    trust: trustOf(source),
    autonomy_budget: {
      consumed: {
        usd: 0,
        input_tokens: 0,
        output_tokens: 0,
        tool_calls: 0,
        wall_time_ms: 0,
        ...replayed.liveSpent,
      },
    },
    replay_input: {
      determinism: plan.allow_live.length + secretSteps.length > 0 ? "best_effort" : "byte_deterministic",
      materials: [logMaterial(source.id, logged), ...materialsOf(substitutions)],
    },
    model_route: routeOf(plan, logged, replayed),
    cost: {
      currency: "USD",
      total: replayed.liveSpent.usd ?? 0,
      provider_breakdown: replayed.liveModels.breakdown(replayed.liveSpent),
    },
    side_effects: {
      fs_writes: [],
      network_egress: replayed.liveEgress.list,
      tool_calls: replayed.liveCalls,
      a2a_handoffs: [],
    },
    final_artifacts: [...restored.artifacts, ...replayed.artifacts],
    deltas: [...given, ...inSourceOrder(deltas)].sort(byKey),
    redactions: [
      ...logged.redactions,
      ...unlistedDeltas(deltaCount, replayed.logHash),
      ...failureCuts(ending.failure),
    ],
    metadata: {
      source_task_id: source.id,
      replay_mode: plan.mode,
      agent: agentOf(source, task),
      ...(plan.checkpoint === null ? {} : { checkpoint: plan.checkpoint }),
      ...(plan.allow_live.length === 0 ? {} : { allow_live: plan.allow_live }),
      ...(secretSteps.length === 0 ? {} : { secrets_given: secretSteps }),
    },
  };
  return { draft, previousHash: await receiptHashOf(store, source.outcome?.receipt_id ?? null) };
}

/** A replay uses what models once gave; only where the request allowed it, they were asked again. */
function routeOf({ allow_live }: ReplayPlan, logged: TaskFacts, replayed: TaskFacts): Receipt["model_route"] {
  if (allow_live.includes("llm") && replayed.liveModels.wereCalled) return replayed.liveModels.route;
  if (!logged.models.wereCalled) {
    return { ...noModel, route_policy_reason: "replayed from the log; no model call was made" };
  }
  return { ...logged.models.route, route_policy_reason: "replayed from recorded provider response" };
}

async function requireTask(store: TenantStore, id: string): Promise<TaskRecord> {
  const document = await store.get("task", id);
  if (document === undefined) throw new Error(`${id} was replayed and is not there`);
  return document.body as TaskRecord;
}

/** The version that ran: the source's, unless another was asked for. A source that never ran has none. */
function agentOf(source: TaskRecord, { agent }: TaskRecord): string {
  return source.assigned_agent_id === null ? agent.name : `${agent.name}@${agent.version}`;
}

/** What the source's whole log is, and what of it lies before the checkpoint. */
async function readSource(
  store: TenantStore,
  plan: ReplayPlan,
): Promise<{ logged: TaskFacts; restored: TaskFacts }> {
  const logged = new TaskFacts();
  const restored = new TaskFacts();
  let isRestoring = plan.checkpoint !== null;
  for await (const events of readLog(store, { taskId: plan.source_task_id, after: 0 })) {
    for (const event of events.map(asKernelEvent)) {
      logged.add(event);
      if (isRestoring) restored.add(event);
      if (stepMark(event)?.key === plan.checkpoint) isRestoring = false;
    }
  }
  return { logged, restored };
}

/** A delta, and the event of the source that it is about. */
interface SteppedDelta {
  delta: ReceiptDelta;
  original: string;
}

/** Branches that run side by side may come to their steps in another order; the source's is the same everywhere. */
function inSourceOrder(deltas: SteppedDelta[]): ReceiptDelta[] {
  return deltas.toSorted((a, b) => (a.original < b.original ? -1 : 1)).map(({ delta }) => delta);
}

/** Those of one key stay in the order of the source. */
function byKey({ override_key: a = "" }: ReceiptDelta, { override_key: b = "" }: ReceiptDelta): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function deltaOf({ event, payload, replay }: KernelEvent): SteppedDelta | null {
  // Of secrets the plan itself knows.
  if (replay?.override_key === undefined || replay.after_sha256 == null) return null;
  if (!("step" in payload) || event === "span.started") return null;
  const { override_key, before_sha256 = null, after_sha256 = null, reason, artifact_id, event_id } = replay;
  const step = payload.step ?? override_key;
  const delta: ReceiptDelta = {
    delta_id: deltaIdOf(step),
    operation: before_sha256 === null ? "add" : "replace",
    path: `/replay_input/materials/${step}`,
    override_key,
    before_sha256,
    after_sha256,
    ...(reason === undefined ? {} : { reason }),
    ...(artifact_id === undefined ? {} : { artifact_id }),
    ...(event_id === undefined ? {} : { event_id }),
  };
  // What the source never recorded comes last.
  return { delta, original: replay.original_event_id ?? `~${step}` };
}

function unlistedDeltas(count: number, proof_hash: string): Redaction[] {
  if (count <= deltasMax) return [];
  return [
    { field: "/deltas", reason: `${count - deltasMax} more are in the replay's events only`, proof_hash },
  ];
}

/** A secret was given: that is all a receipt may say of it. */
function secretDelta([step, override_key]: [string, string]): ReceiptDelta {
  return {
    delta_id: deltaIdOf(step),
    operation: "replace",
    path: `/replay_input/materials/${step}`,
    override_key,
    before_sha256: null,
    after_sha256: null,
    reason: "a secret was given with the request; neither it nor its hash is recorded",
  };
}

/** Times of the source's life that were given anew. */
function lifecycleDeltas(source: TaskRecord, substitutions: Record<string, Substitution>): ReceiptDelta[] {
  return lifecycleTimes.flatMap((name) => {
    const given = substitutions[`time:${name}`];
    if (given === undefined) return [];
    const before = timesOf(source)[name];
    return [
      {
        delta_id: deltaIdOf(given.override_key),
        operation: "replace" as const,
        path: `/lifecycle/${name}`,
        override_key: given.override_key,
        before_sha256: hashOf(before),
        after_sha256: given.sha256,
        ...(given.reason === null ? {} : { reason: given.reason }),
        ...(given.event_id === undefined ? {} : { event_id: given.event_id }),
      },
    ];
  });
}

function timesOf(source: TaskRecord): Record<(typeof lifecycleTimes)[number], string> {
  return {
    created_at: source.created_at,
    started_at: source.started_at ?? source.created_at,
    completed_at: endedAt(source),
  };
}

function endedAt({ completed_at, canceled_at, updated_at }: TaskRecord): string {
  return completed_at ?? canceled_at ?? updated_at;
}

function lifecycleOf(
  source: TaskRecord,
  substitutions: Record<string, Substitution>,
  ending: ReceiptedEnding,
): Receipt["lifecycle"] {
  const times = timesOf(source);
  for (const name of lifecycleTimes) {
    const given = substitutions[`time:${name}`]?.value;
    if (typeof given === "number") times[name] = new Date(given).toISOString();
    if (typeof given === "string") times[name] = given;
  }
  return {
    ...times,
    final_state: ending.status === "COMPLETED" ? "SUCCEEDED" : ending.status,
    failure: failureIn(ending.failure),
  };
}

const materialKinds: Record<string, ReplayMaterial["kind"]> = {
  llm: "llm_provider_response",
  mcp: "mcp_tool_return",
  ask: "event_log",
  approve: "event_log",
  spawn: "event_log",
  handoff: "event_log",
};

/** One for each override, in the order of their keys. */
function materialsOf(substitutions: Record<string, Substitution>): ReplayMaterial[] {
  const given = new Map(Object.values(substitutions).map((each) => [each.override_key, each]));
  return [...given.values()]
    .sort((a, b) => (a.override_key < b.override_key ? -1 : 1))
    .map(({ override_key, sha256, artifact_id }) => ({
      kind: materialKinds[override_key.slice(0, override_key.indexOf(":"))] ?? "host_fact",
      id: override_key,
      sha256,
      ...(artifact_id === null ? {} : { uri: `/v1/artifacts/${artifact_id}/content` }),
      metadata: { override_key },
    }));
}

async function receiptHashOf(store: TenantStore, receiptId: string | null): Promise<string | null> {
  const document = receiptId === null ? undefined : await store.get("receipt", receiptId);
  return (document?.body as ReceiptRecord | undefined)?.hash ?? null;
}

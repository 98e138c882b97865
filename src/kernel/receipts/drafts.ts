/** Receipts before they are chained and signed: what the log says about a task or an approval, in the receipt's terms. */

import type { Receipt, Redaction } from "../../receipts/schema.ts";
import { receiptSchemaVersion } from "../../receipts/schema.ts";
import { traceIdOf } from "../core/trace.ts";
import type { Failure } from "../kinds/outcome.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import type { Budget } from "../kinds/quota.ts";
import type { TaskRecord } from "../kinds/task.ts";
import type { Decided, ReceiptedEnding } from "./due.ts";
import { approvalOf, type TaskFacts } from "./facts.ts";
import { noModel } from "./model-facts.ts";

export type ReceiptDraft = Omit<Receipt, "chain" | "signatures" | "issuer">;

export interface EndedTask {
  receiptId: string;
  task: TaskRecord;
  ending: ReceiptedEnding;
  facts: TaskFacts;
  at: string;
  budget?: Budget | undefined;
}

/** The receipt of a task that has ended. */
export function draftTaskReceipt({ receiptId, task, ending, facts, at, budget }: EndedTask): ReceiptDraft {
  const { usd = 0, input_tokens = 0, output_tokens = 0 } = facts.spent;
  const startedAt = task.started_at ?? task.created_at;
  return {
    schema: receiptSchemaVersion,
    receipt_id: receiptId,
    subject: { object: "task", id: task.id },
    issued_at: at,
    identifiers: identifiersOf(task),
    lifecycle: {
      created_at: task.created_at,
      started_at: startedAt,
      completed_at: at,
      final_state: ending.status === "COMPLETED" ? "SUCCEEDED" : ending.status,
      failure: failureIn(ending.failure),
    },
    approvals: facts.approvals,
    trust: trustOf(task),
    autonomy_budget: {
      ...(budget === undefined ? {} : { limit: budget }),
      consumed: {
        usd,
        input_tokens,
        output_tokens,
        tool_calls: facts.toolCallCount,
        wall_time_ms: Math.max(0, Date.parse(at) - Date.parse(startedAt)),
      },
    },
    replay_input: {
      ...determinism(ending, facts),
      materials: [logMaterial(task.id, facts), ...facts.materials],
    },
    model_route: facts.models.route,
    cost: { currency: "USD", total: usd, provider_breakdown: facts.models.breakdown(facts.spent) },
    side_effects: {
      fs_writes: facts.fileWrites,
      network_egress: facts.egress.list,
      tool_calls: facts.toolCalls,
      a2a_handoffs: facts.handoffs.list,
    },
    final_artifacts: facts.artifacts,
    redactions: [...facts.redactions, ...failureCuts(ending.failure)],
    metadata: {
      ...(facts.submittedBy === null ? {} : { submitted_by: facts.submittedBy }),
      agent: task.assigned_agent_id ?? task.agent.name,
      ...(facts.exhausted.length === 0 ? {} : { exhausted_quotas: facts.exhausted }),
      ...facts.handoffs.metadata,
    },
  };
}

/** The receipt of a decision about a permission: the same run, seen at the moment somebody decided. */
export function draftApprovalReceipt(
  receiptId: string,
  task: TaskRecord,
  request: PermissionRequestRecord,
  event: Decided,
): ReceiptDraft {
  const { response } = event.payload;
  const approval = approvalOf(request, response, event);
  const { decision, decided_at } = approval;
  const final_state = decision === "approved" ? "SUCCEEDED" : decision === "canceled" ? "CANCELED" : "FAILED";
  const failure = final_state === "FAILED" ? { code: decision, message: response.reason ?? "" } : null;
  return {
    schema: receiptSchemaVersion,
    receipt_id: receiptId,
    subject: { object: "approval", id: request.id },
    issued_at: decided_at,
    identifiers: identifiersOf(task),
    lifecycle: {
      created_at: request.created_at,
      started_at: request.created_at,
      completed_at: decided_at,
      final_state,
      failure,
    },
    approvals: [approval],
    trust: trustOf(task),
    autonomy_budget: { consumed: { tool_calls: 0 } },
    replay_input: {
      determinism: "unavailable",
      materials: [],
      unavailable_reason: "a person's decision is evidence, not something to run again",
    },
    model_route: noModel,
    cost: { currency: "USD", total: 0, provider_breakdown: [] },
    side_effects: { fs_writes: [], network_egress: [], tool_calls: [], a2a_handoffs: [] },
    final_artifacts: [],
    redactions: [
      {
        field: "/approvals/0/request",
        reason: "kept in the event log",
        ...(approval.evidence_hash === undefined ? {} : { proof_hash: approval.evidence_hash }),
      },
    ],
    metadata: {},
  };
}

/** A failure may quote anything at any length; the log has all of it. */
export function failureIn(failure: Failure | null): Record<string, unknown> | null {
  if (failure === null) return null;
  const { code, message, details } = failure;
  const isSmall = details !== undefined && JSON.stringify(details).length <= failureCharsMax;
  return { code, message: message.slice(0, failureCharsMax), ...(isSmall ? { details } : {}) };
}

const failureCharsMax = 2000;

/** What of a failure is in the log only. */
export function failureCuts(failure: Failure | null): Redaction[] {
  const shown = failureIn(failure);
  if (failure === null || shown === null) return [];
  const { message, details } = failure;
  const cut = (field: string): Redaction[] => [
    { field: `/lifecycle/failure/${field}`, reason: "too long; it is in the event log" },
  ];
  return [
    ...(shown.message === message ? [] : cut("message")),
    ...(details === undefined || "details" in shown ? [] : cut("details")),
  ];
}

export function identifiersOf(task: TaskRecord): Receipt["identifiers"] {
  return {
    tenant_id: task.tenant_id,
    persona_ref: personaRef(task),
    workspace_ref: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    ...(task.branch_id === null ? {} : { branch_id: task.branch_id }),
    trace_id: traceIdOf(task),
  };
}

function personaRef({ persona_id, policy }: TaskRecord): string {
  return `${persona_id}@${policy.persona_version}`;
}

export function trustOf(task: TaskRecord): Receipt["trust"] {
  const tier = task.policy.autonomy_tier;
  return { start_tier: tier, end_tier: tier, policy_ref: personaRef(task) };
}

/** The log of a task, by hash: what a replay is made from. */
export function logMaterial(
  taskId: string,
  facts: Pick<TaskFacts, "logHash" | "logLines">,
): Receipt["replay_input"]["materials"][number] {
  return {
    kind: "event_log",
    id: `event_log_${taskId}`,
    uri: `/v1/tasks/${taskId}/events`,
    sha256: facts.logHash,
    content_type: "application/jsonl",
    metadata: { lines: facts.logLines },
  };
}

function determinism(
  { failure }: ReceiptedEnding,
  { usesSecrets }: TaskFacts,
): Pick<Receipt["replay_input"], "determinism" | "unavailable_reason"> {
  if (failure?.code === "nondeterministic_run") {
    const reason = failure.message.slice(0, failureCharsMax) || "the code does not repeat what it did";
    return { determinism: "unavailable", unavailable_reason: reason };
  }
  // A secret is never in the log; a replay has to be given one.
  return { determinism: usesSecrets ? "best_effort" : "byte_deterministic" };
}

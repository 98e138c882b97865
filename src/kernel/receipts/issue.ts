/** Leaves a receipt in the commit that ends a task or decides a permission, unless the persona wants none. */

import { budgetLimit } from "../quotas/ledger.ts";
import type { PermissionRequestRecord, PermissionResponse } from "../resources/permission-request.ts";
import type { ReplayPlan } from "../resources/replay.ts";
import type { TaskRecord } from "../resources/task.ts";
import type { Ending } from "../tasks.ts";
import type { Unit } from "../unit.ts";
import { draftApprovalReceipt, draftTaskReceipt, type ReceiptDraft } from "./drafts.ts";
import { TaskFacts } from "./facts.ts";
import { draftReplayReceipt } from "./replay-receipt.ts";

/** Gives the receipt's id; null when there is none. */
export async function issueTaskReceipt(unit: Unit, task: TaskRecord, ending: Ending): Promise<string | null> {
  if (task.policy.receipt_policy === "disabled") return null;
  if (task.replay !== null) return await issueReplayReceipt(unit, task, task.replay, ending);
  const facts = new TaskFacts();
  for await (const events of unit.history(task.id)) for (const event of events) facts.add(event);
  facts.noteRedactions(JSON.stringify(ending));
  const limit = await budgetLimit(unit, task);
  return issue(unit, task, draftTaskReceipt(unit.newId("receipt"), task, ending, facts, limit, unit.at));
}

/** Equal replays share a receipt: the first leaves it, the others name it. */
async function issueReplayReceipt(
  unit: Unit,
  task: TaskRecord,
  plan: ReplayPlan,
  ending: Ending,
): Promise<string> {
  const { draft, previousHash, existing } = await draftReplayReceipt(unit, task, plan, ending);
  return existing ?? issue(unit, task, draft, { previousHash });
}

export function issueApprovalReceipt(
  unit: Unit,
  task: TaskRecord,
  request: PermissionRequestRecord,
  response: PermissionResponse,
): string | null {
  if (task.policy.receipt_policy === "disabled") return null;
  return issue(unit, task, draftApprovalReceipt(unit.newId("receipt"), task, request, response, unit.caller));
}

function issue(
  unit: Unit,
  task: TaskRecord,
  draft: ReceiptDraft,
  after: { previousHash: string | null } | null = null,
): string {
  unit.issueReceipt(
    {
      id: draft.receipt_id,
      object: "receipt",
      tenant_id: task.tenant_id,
      created_at: draft.issued_at,
      updated_at: draft.issued_at,
      metadata: {},
      workspace_id: task.workspace_id,
      session_id: task.session_id,
      task_id: task.id,
      subject: draft.subject,
    },
    draft,
    after,
  );
  return draft.receipt_id;
}

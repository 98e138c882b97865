/** A task for the one who asked: as much of it as was asked for and may be seen. */

import type { TaskJson } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { delegationUri, durableCursorUri } from "../../kernel/core/extension-uris.ts";
import type { ReceiptRecord } from "../../kernel/kinds/receipt.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { mayUse } from "../../policy/caller.ts";
import type { Call } from "./call.ts";
import { type Presentation, type TaskDetail, TaskView, wholeTask } from "./view/task-view.ts";

export function presentationFor({ kernel, caller, publicUrl, extensions }: Call): Presentation {
  return {
    store: kernel.store.of(caller.tenantId),
    publicUrl,
    withCursor: extensions.has(durableCursorUri),
    withMessages: mayUse(caller, "messages:read"),
    withArtifacts: mayUse(caller, "artifacts:read"),
  };
}

/** A length that was not given means all of the history. */
export function detailOf(historyLength: number | undefined): TaskDetail {
  return { ...wholeTask, historyLength: historyLength ?? null };
}

export function present(call: Call, view: TaskView, detail: TaskDetail): Promise<TaskJson> {
  const receiptId = view.task.outcome?.receipt_id ?? null;
  if (receiptId === null || !call.extensions.has(delegationUri)) return view.snapshot(detail);
  return presentDelegated(call, view, detail, receiptId);
}

/** Who handed the work on can name the receipt that it ended with. */
async function presentDelegated(
  { kernel }: Call,
  view: TaskView,
  detail: TaskDetail,
  receiptId: string,
): Promise<TaskJson> {
  await kernel.receipts.caughtUp();
  const document = await kernel.store.of(view.task.tenant_id).get("receipt", receiptId);
  const receipt = document?.body as ReceiptRecord | undefined;
  if (receipt === undefined) return await view.snapshot(detail);
  return await view.snapshot(detail, {
    [delegationUri]: { receipt_id: receiptId, receipt_hash: receipt.hash },
  });
}

/** The task as it is now. */
export async function presentRecord(call: Call, task: TaskRecord, detail: TaskDetail): Promise<TaskJson> {
  const isRecordEnough = detail.historyLength === 0 && !detail.withArtifacts;
  const presentation = presentationFor(call);
  const view = isRecordEnough
    ? new TaskView(task, presentation)
    : await TaskView.read(task, Number.POSITIVE_INFINITY, presentation);
  return await present(call, view, detail);
}

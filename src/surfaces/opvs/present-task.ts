/** A task for the one who asked: as much of it as was asked for and may be seen. */

import type { TaskJson } from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { delegationUri, durableCursorUri } from "../../kernel/core/extension-uris.ts";
import type { ReceiptRecord } from "../../kernel/kinds/receipt.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { mayUse } from "../../policy/caller.ts";
import type { JsonObject } from "../../store/port.ts";
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

export async function present(call: Call, view: TaskView, detail: TaskDetail): Promise<TaskJson> {
  return await view.snapshot(detail, await delegationOf(call, view.task));
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

/** Who handed the work on can name the receipt that it ended with. */
async function delegationOf({ kernel, extensions }: Call, task: TaskRecord): Promise<JsonObject> {
  const receiptId = task.outcome?.receipt_id;
  if (receiptId == null || !extensions.has(delegationUri)) return {};
  await kernel.receipts.caughtUp();
  const document = await kernel.store.of(task.tenant_id).get("receipt", receiptId);
  const receipt = document?.body as ReceiptRecord | undefined;
  if (receipt === undefined) return {};
  return { [delegationUri]: { receipt_id: receiptId, receipt_hash: receipt.hash } };
}

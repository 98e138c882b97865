/** What must hold of the records that have come of a log, before they are written. */

import type { Caller } from "../../../policy/caller.ts";
import { type AnyRecord, indexOf, type Kind } from "../../core/fold.ts";
import type { TaskRecord } from "../../kinds/task.ts";
import { receiptIdOf } from "../../receipts/subjects.ts";
import { isFinal } from "../../tasks/lifecycle.ts";
import { nameIn } from "../../workspaces/ensure-tenant.ts";
import { adoptedSessionId } from "../send-message.ts";
import type { LogBundle } from "./bundle.ts";
import { refused } from "./refused.ts";

/** What these events make, and nothing else. */
const importedKinds: ReadonlySet<string> = new Set<Kind>([
  "session",
  "message",
  "artifact",
  "task",
  "permission_request",
  "approval_nonce",
  "handoff",
  "receipt",
]);

/** What has come of the log: records of this session only, nothing among them that goes on, is waited for or wakes anybody. */
export function assertSettled(
  id: string,
  record: AnyRecord,
  made: ReadonlyMap<string, AnyRecord>,
  { header }: LogBundle,
  caller: Caller,
): void {
  const place = { workspace_id: header.workspace.id, session_id: header.session_id, ...record };
  if (!hasFormOf(record, caller)) throw refused(`${id} is not an id of its kind.`);
  const isOurs =
    id === record.id &&
    importedKinds.has(record.object) &&
    record.tenant_id === header.tenant_id &&
    place.workspace_id === header.workspace.id &&
    place.session_id === header.session_id;
  if (!isOurs) throw refused(`${id} is not a record of this session.`);
  if ("task_id" in record && record.task_id !== null && !made.has(record.task_id)) {
    throw refused(`${id} is of a task that it does not have, ${record.task_id}.`);
  }
  if (indexOf(record).wakeAt != null) throw refused(`${id} has not come to its end.`);
  if (record.object === "task") assertTaskEnded(record, made);
  if (record.object === "permission_request" && record.status === "pending") {
    throw refused(`The request ${id} still waits for an answer.`);
  }
}

/** Ids that are made of something else, as those of chains, tenants and contexts are, are not for a file to choose. */
const idForms: Partial<Record<Kind, RegExp>> = {
  session: /^session_(?:[0-9A-Z]{26}|(?:ctx|shell)_[0-9a-f]{32})$/,
  message: /^msg_[0-9A-Z]{26}$/,
  task: /^task_[0-9A-Z]{26}$/,
  artifact: /^artifact_[0-9A-Z]{26}$/,
  permission_request: /^perm_[0-9A-Z]{26}$/,
  handoff: /^handoff_[0-9A-Z]{26}$/,
  receipt: /^receipt_[0-9A-Z]{26}$/,
  approval_nonce: /^nonce_[0-9a-f]{64}$/,
};

/** What replays make is named after what is replayed, and after the tenant. */
const replayForms: Partial<Record<Kind, RegExp>> = {
  artifact: /^artifact_replay_[0-9a-f]{1,64}$/,
  receipt: /^receipt_replay_(?:[0-9a-f]{1,64}|live_[0-9A-Z]{26})$/,
};

function hasFormOf(record: AnyRecord, { workspaceIds: bound }: Caller): boolean {
  const { object, id, tenant_id: tenantId } = record;
  const [name = ""] = id.split(".");
  if (replayForms[object]?.test(name) === true) return id === nameIn(tenantId, name);
  // That of a part of a task is made of the task, which is in the file and nowhere else.
  if (record.object === "receipt" && id.startsWith("receipt_subject_")) {
    return id === receiptIdOf(record.task_id, record.subject);
  }
  if (idForms[object]?.test(id) !== true) return false;
  // That of a shell's session is made of what only the shell knows: it is for those who may do everything in the tenant.
  if (id.startsWith("session_shell_")) return bound === null;
  if (record.object !== "session" || !id.startsWith("session_ctx_")) return true;
  // That of a client's own context is made of the tenant and of whoever began it.
  const owners = [null, [record.workspace_id]];
  return owners.some(
    (workspaceIds) => id === adoptedSessionId({ tenantId, workspaceIds }, record.context_id ?? ""),
  );
}

/** By what its events have made of it, not by their names. */
function assertTaskEnded(task: TaskRecord, made: ReadonlyMap<string, AnyRecord>): void {
  if (!isFinal(task.status) || task.outcome === null) {
    throw refused(`Task ${task.id} has not ended.`);
  }
  if (task.parent_task_id !== null && !made.has(task.parent_task_id)) {
    throw refused(`Task ${task.id} has a parent that it does not have, ${task.parent_task_id}.`);
  }
}

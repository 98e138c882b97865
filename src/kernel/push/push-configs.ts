/** Reading push configs: who may see a task may see its webhooks, but for what is sealed. */

import type { Caller } from "../../policy/caller.ts";
import { openSecret } from "../../policy/vault-crypto.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { notFound } from "../core/errors.ts";
import { findVisible, getRecord, listDocuments, type ReadDeps } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import { type PushConfigRecord, type PushSecrets, pushConfigId } from "../kinds/push-config.ts";
import { openDataKey } from "../vaults/vaults.ts";

/** More than a task can have. */
const listMax = 100;
const duePage = 500;

export async function getPushConfig(
  deps: ReadDeps,
  caller: Caller,
  taskId: string,
  configId: string,
): Promise<PushConfigRecord> {
  const task = await getRecord(deps, caller, "task", taskId);
  const config = await findVisible(deps.store, caller, "push_config", pushConfigId(task.id, configId));
  if (config === undefined) throw notFound("push_config", configId);
  return config;
}

/** Oldest first. A task has few of them, so all are one page. */
export async function listPushConfigs(
  deps: ReadDeps,
  caller: Caller,
  taskId: string,
): Promise<PushConfigRecord[]> {
  const task = await getRecord(deps, caller, "task", taskId);
  const { data } = await listDocuments(deps, caller, "push_config", { taskId: task.id, limit: listMax }, [
    "live",
  ]);
  return data.reverse();
}

/** What it takes to reach the webhook; null once nothing is told any more. For a delivery, and for the URL in an answer. */
export function openPushConfig(
  deps: Pick<KernelDeps, "masterKeys">,
  { id, tenant_id, data_key, sealed_secrets }: PushConfigRecord,
): PushSecrets | null {
  if (data_key === null) return null;
  const dataKey = openDataKey(deps, { id, tenant_id, data_key });
  // Written by `create-push-config.ts`, and by nobody else: the seal says so.
  return JSON.parse(openSecret(dataKey, sealed_secrets, [tenant_id, id])) as PushSecrets;
}

/** Every config of all tenants that something is still told to. */
export async function* activePushConfigs(store: WholeStore): AsyncGenerator<PushConfigRecord> {
  let after = { wakeAt: -1, id: "" };
  while (true) {
    const page = { kind: "push_config", after, through: Number.MAX_SAFE_INTEGER, limit: duePage };
    const due = await store.due(page);
    for (const { id } of due) {
      const document = await store.get("push_config", id);
      if (document !== undefined) yield document.body as PushConfigRecord;
    }
    after = due.at(-1) ?? after;
    if (due.length < duePage) return;
  }
}

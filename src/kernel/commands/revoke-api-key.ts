/**
 * Revoke an API key, and with it the keys that it made and the webhooks that any of them registered. They stop working with the
 * next request; asking again changes nothing.
 */

import { type Caller, mayGrant, systemCaller } from "../../policy/caller.ts";
import { audited } from "../audit/record.ts";
import { type Command, carryOut } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { everyPage } from "../every-page.ts";
import type { Records } from "../fold.ts";
import type { ApiKeyRecord } from "../resources/api-key.ts";
import type { PersonaRecord } from "../resources/persona.ts";
import type { PushConfigRecord } from "../resources/push-config.ts";
import type { ScheduleRecord } from "../resources/schedule.ts";
import type { KernelDeps, Unit } from "../unit.ts";
import { deletePushConfig } from "./delete-push-config.ts";

/** What a key and those that it made brought into being. Keys end with it; the rest stays, for somebody to look at. */
export interface MadeByKey {
  api_key_ids: string[];
  persona_ids: string[];
  schedule_ids: string[];
  connector_ids: string[];
}

export interface RevokedApiKey {
  record: ApiKeyRecord;
  made: MadeByKey;
}

export const revokeApiKey: Command<{ keyId: string }, RevokedApiKey> = {
  name: "revoke_api_key",
  scope: "api_keys:write",
  audit: (_, { record }) => audited("api_key.revoke", record, { name: record.name, actor: record.actor }),
  isAllowedWithoutRoom: true,
  async decide(unit, { keyId }) {
    const key = await unit.require("api_key", keyId);
    assertMayRevoke(unit.caller, key);
    const descendants = await madeBy(unit, key);
    for (const descendant of descendants) revoke(unit, descendant);
    const keyIds = new Set([key.id, ...descendants.map(({ id }) => id)]);
    const made = {
      api_key_ids: descendants.map(({ id }) => id),
      persona_ids: await idsMadeBy(unit, "persona", keyIds),
      schedule_ids: await schedulesMadeBy(unit, keyIds),
      connector_ids: await idsMadeBy(unit, "connector", keyIds),
    };
    return { record: revoke(unit, key), made };
  },
  async afterwards(deps, caller, { record }) {
    await deleteWebhooks(deps, caller, record.id);
  },
};

async function idsMadeBy(
  { own }: Unit,
  kind: "persona" | "connector",
  keyIds: ReadonlySet<string>,
): Promise<string[]> {
  const found: string[] = [];
  for await (const page of everyPage(own, { kind })) {
    for (const record of page.map(({ body }) => body as Records[typeof kind])) {
      const isGone = "deleted_at" in record && record.deleted_at !== null;
      if (!isGone && keyIds.has(record.created_by_key_id ?? "")) found.push(record.id);
    }
  }
  return found;
}

/** Schedules are found through their personas. */
async function schedulesMadeBy({ own }: Unit, keyIds: ReadonlySet<string>): Promise<string[]> {
  const found: string[] = [];
  for await (const page of everyPage(own, { kind: "persona" })) {
    for (const { schedules = [] } of page.map(({ body }) => body as PersonaRecord)) {
      for (const { id = "" } of schedules) {
        const record = (await own.get("schedule", id))?.body as ScheduleRecord | undefined;
        if (keyIds.has(record?.created_by_key_id ?? "")) found.push(id);
      }
    }
  }
  return found;
}

function revoke(unit: Unit, key: ApiKeyRecord): ApiKeyRecord {
  return key.revoked_at === null ? unit.emit(key, "vendor.bridle.api_key.revoked", {}) : key;
}

/** Nobody ends what they could not have made. */
function assertMayRevoke(caller: Caller, key: ApiKeyRecord): void {
  const missing = key.scopes.find((scope) => !mayGrant(caller, scope));
  if (missing === undefined || caller.keyId === key.id) return;
  throw new HarnessError("permission_denied", `This key cannot revoke one that has the scope ${missing}.`, {
    details: { required_scope: missing },
  });
}

/** The keys that a key made, and those that they made, and so on. */
async function madeBy(unit: Unit, key: ApiKeyRecord): Promise<ApiKeyRecord[]> {
  const found: ApiKeyRecord[] = [];
  for (const { id } of await descendantsOf(unit, key.id)) {
    const record = await unit.findForHarness("api_key", id);
    if (record !== undefined) found.push(record);
  }
  return found;
}

async function descendantsOf({ own }: Pick<Unit, "own">, keyId: string): Promise<ApiKeyRecord[]> {
  const children = new Map<string, ApiKeyRecord[]>();
  for await (const page of everyPage(own, { kind: "api_key" })) {
    for (const record of page.map(({ body }) => body as ApiKeyRecord)) {
      const { created_by_key_id: parent } = record;
      if (parent === undefined) continue;
      const known = children.get(parent);
      if (known === undefined) children.set(parent, [record]);
      else known.push(record);
    }
  }
  const found: ApiKeyRecord[] = [];
  for (let next = children.get(keyId) ?? []; next.length > 0; ) {
    found.push(...next);
    next = next.flatMap(({ id }) => children.get(id) ?? []);
  }
  return found;
}

/** Nothing more is told to somebody whose key is gone. */
async function deleteWebhooks(deps: KernelDeps, caller: Caller, keyId: string): Promise<void> {
  const own = deps.store.of(caller.tenantId);
  // What the keys registered may be on tasks that the caller does not see.
  const harness: Caller = { ...systemCaller(caller.tenantId), actor: caller.actor };
  const keys = [keyId, ...(await descendantsOf({ own }, keyId)).map(({ id }) => id)];
  for (const ownerId of keys) {
    for await (const page of everyPage(own, { kind: "push_config", by: { ownerId }, statuses: ["live"] })) {
      for (const { body } of page) {
        const { task_id: taskId, config_id: configId } = body as PushConfigRecord;
        await carryOut(deps, deletePushConfig, harness, { taskId, configId });
      }
    }
  }
}

/**
 * Revoke an API key, and with it the keys that it made and the webhooks that any of them registered. They stop working with the
 * next request; asking again changes nothing.
 */

import { type Caller, mayGrant, systemCaller } from "../../policy/caller.ts";
import { audited } from "../audit/record.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import type { PushConfigRecord } from "../kinds/push-config.ts";
import { deletePushConfig } from "../push/delete-push-config.ts";
import { descendantsOf, type MadeByKey, madeByKey } from "./made-by-key.ts";

export interface RevokedApiKey {
  record: ApiKeyRecord;
  made: MadeByKey;
}

export const revokeApiKey: Command<{ keyId: string }, RevokedApiKey> = {
  name: "revoke_api_key",
  scope: "api_keys:write",
  audit: (_, { record }) => audited("api_key.revoke", record, { name: record.name, actor: record.actor }),
  isAllowedWithoutRoom: true,
  decide(unit, { keyId }) {
    const key = unit.require("api_key", keyId);
    assertMayRevoke(unit.caller, key);
    for (const made of descendants(unit, key)) revoke(unit, made);
    return { record: revoke(unit, key), made: unit.awaited("made", () => madeByKey(unit.own, key.id)) };
  },
  async afterwards(deps, caller, { record }) {
    await deleteWebhooks(deps, caller, record.id);
  },
};

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
function descendants(unit: Unit, key: ApiKeyRecord): ApiKeyRecord[] {
  const ids = unit.awaited("descendants", () => descendantsOf(unit.own, key.id)).map(({ id }) => id);
  unit.prefetch(ids.map((id) => ({ kind: "api_key", id })));
  return ids.flatMap((id) => unit.findAsSystem("api_key", id) ?? []);
}

/** Nothing more is told to somebody whose key is gone. */
async function deleteWebhooks(deps: KernelDeps, caller: Caller, keyId: string): Promise<void> {
  const own = deps.store.of(caller.tenantId);
  // What the keys registered may be on tasks that the caller does not see.
  const harness: Caller = { ...systemCaller(caller.tenantId), actor: caller.actor };
  const keys = [keyId, ...(await descendantsOf(own, keyId)).map(({ id }) => id)];
  for (const ownerId of keys) {
    for await (const page of paginate(own, { kind: "push_config", by: { ownerId }, statuses: ["live"] })) {
      for (const { body } of page) {
        const { task_id: taskId, config_id: configId } = body as PushConfigRecord;
        await runCommand(deps, deletePushConfig, harness, { taskId, configId });
      }
    }
  }
}

/** From a presented API key to a caller. A key that is unknown, wrong, expired or revoked is simply not a caller. */

import { hashApiKey, keyIdOf, sameHash } from "../../policy/api-key.ts";
import { type Caller, systemCaller } from "../../policy/caller.ts";
import type { Clock } from "../clock.ts";
import { defaultTenantId } from "../commands/ensure-tenant.ts";
import type { LogTail } from "../log-tail.ts";
import type { ApiKeyRecord } from "../resources/api-key.ts";
import type { ReadDeps } from "./read.ts";

/** Keys remembered after their first use; the cache is dropped whole when it is full or a key is revoked. */
const cacheMax = 10_000;

export type Authenticate = (presented: string) => Promise<Caller | null>;

interface Known {
  caller: Caller;
  expiresAt: number;
}

/** `fixedKey` is the administrator's key that the operator set or that was made on first start. */
export function createAuthenticate(
  { store, clock, tail }: ReadDeps & { clock: Clock; tail: LogTail },
  fixedKey: string,
): Authenticate {
  const fixedHash = hashApiKey(fixedKey);
  const administrator: Caller = { ...systemCaller(defaultTenantId), actor: "admin" };
  const cache = new Map<string, Known>();
  tail.onCommit((events) => {
    if (events.some(({ event }) => event === "vendor.bridle.api_key.revoked")) cache.clear();
  });

  return async function authenticate(presented) {
    const hash = hashApiKey(presented);
    if (sameHash(hash, fixedHash)) return administrator;
    // What is looked up is the hash: how long that takes says nothing about the key.
    const cached = cache.get(hash);
    if (cached !== undefined) return cached.expiresAt > clock.now() ? cached.caller : null;

    const keyId = keyIdOf(presented);
    const document = keyId === null ? undefined : await store.get("api_key", keyId);
    if (document === undefined) return null;
    const record = document.body as ApiKeyRecord;
    if (!sameHash(hash, record.hash) || record.revoked_at !== null) return null;
    const expiresAt = record.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(record.expires_at);
    if (expiresAt <= clock.now()) return null;
    const caller: Caller = {
      actor: record.actor,
      tenantId: record.tenant_id,
      workspaceIds: record.workspace_ids,
      scopes: new Set(record.scopes),
    };
    if (cache.size >= cacheMax) cache.clear();
    cache.set(hash, { caller, expiresAt });
    return caller;
  };
}

/** Why a credential was refused, and whose it was, for those who watch over the server. Callers are told neither. */

import { claimedIssuer } from "../../policy/access-token.ts";
import { hashApiKey, keyIdOf, sameHash } from "../../policy/api-key.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { expiryOf } from "./client-keys.ts";

export type AuthFailureReason =
  | "unknown_key"
  | "wrong_secret"
  | "revoked"
  | "expired"
  | "invalid_token"
  /** The key is good, and not for this: from here, for this client, or since the key that made it is gone. */
  | "not_allowed";

export interface AuthFailure {
  /** The network address that it came from. */
  from: string;
  reason: AuthFailureReason;
  /** The tenant of the key; the default tenant when there is no such key. */
  tenantId: string;
  keyId: string | null;
}

export async function authFailure(
  store: WholeStore,
  presented: string,
  from: string,
  now: number,
): Promise<AuthFailure> {
  const unknown = { from, tenantId: defaultTenantId, keyId: null };
  if (claimedIssuer(presented) !== null) return { ...unknown, reason: "invalid_token" };
  const keyId = keyIdOf(presented);
  const document = keyId === null ? undefined : await store.get("api_key", keyId);
  if (document === undefined) return { ...unknown, reason: "unknown_key" };
  const key = document.body as ApiKeyRecord;
  return { from, tenantId: key.tenant_id, keyId: key.id, reason: reasonOf(key, presented, now) };
}

function reasonOf(key: ApiKeyRecord, presented: string, now: number): AuthFailureReason {
  const hash = hashApiKey(presented);
  const old = key.previous != null && sameHash(hash, key.previous.hash) ? key.previous : null;
  if (old === null && !sameHash(hash, key.hash)) return "wrong_secret";
  if (key.revoked_at !== null) return "revoked";
  const endsAt = Math.min(expiryOf(key), old === null ? Number.POSITIVE_INFINITY : Date.parse(old.until));
  return now >= endsAt ? "expired" : "not_allowed";
}

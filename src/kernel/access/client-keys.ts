/** API keys as those who present them know them: usable or not, and whom they stand for. */

import { isInRanges } from "../../policy/address-ranges.ts";
import { hashApiKey, keyIdOf, sameHash } from "../../policy/api-key.ts";
import type { Caller, Scope } from "../../policy/caller.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { timestamp } from "../core/clock.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import type { KnownCaller } from "./caller-cache.ts";

/** The record of a key that is good now, by its id alone: for those who have proved otherwise that it is theirs. */
export async function usableKey(
  store: Pick<WholeStore, "get">,
  keyId: string,
  now: number,
  depth = 0,
): Promise<ApiKeyRecord | null> {
  if (depth >= generationsMax) return null;
  const document = await store.get("api_key", keyId);
  if (document === undefined) return null;
  const record = document.body as ApiKeyRecord;
  if (record.revoked_at !== null || now >= expiryOf(record)) return null;
  // Whoever made it may have been of another tenant, or have lost their key in the same moment.
  const parent = record.created_by_key_id;
  const isStanding = parent === undefined || (await usableKey(store, parent, now, depth + 1)) !== null;
  return isStanding ? record : null;
}

/** Keys that make keys that make keys, and so on: nobody needs more. */
const generationsMax = 32;

/** A key as one of its secrets opens it. */
export interface PresentedKey {
  key: ApiKeyRecord;
  /** Which of its secrets it was: how often the key had been rotated. */
  version: number;
  /** When that secret ends: with the key, or sooner. */
  endsAt: number;
}

/** The key that was presented, if the secret is one of its own and good now. */
export async function presentedKey(
  store: WholeStore,
  presented: string,
  now: number,
): Promise<PresentedKey | null> {
  const keyId = keyIdOf(presented);
  const key = keyId === null ? null : await usableKey(store, keyId, now);
  if (key === null) return null;
  const hash = hashApiKey(presented);
  const { rotations = 0, previous } = key;
  if (sameHash(hash, key.hash)) return ofVersion(key, rotations, now);
  return previous != null && sameHash(hash, previous.hash) ? ofVersion(key, rotations - 1, now) : null;
}

/** The key as the secret of a version opens it now; null when that is over. */
export function ofVersion(key: ApiKeyRecord, version: number, now: number): PresentedKey | null {
  const { rotations = 0, previous } = key;
  if (version === rotations) return { key, version, endsAt: expiryOf(key) };
  if (version !== rotations - 1 || previous == null) return null;
  const endsAt = Math.min(Date.parse(previous.until), expiryOf(key));
  return now < endsAt ? { key, version, endsAt } : null;
}

/** Whoever presents a secret of a key. */
export function holderOf(presented: PresentedKey): KnownCaller {
  const { caller, expiresAt } = holderUntil(presented, Number.POSITIVE_INFINITY);
  return { caller: { ...caller, secretVersion: presented.version }, expiresAt };
}

/** Not for longer than the secret, or the token it was exchanged for. */
function holderUntil({ key, endsAt }: PresentedKey, until: number): KnownCaller {
  const expiresAt = Math.min(until, endsAt);
  const caller = callerOf(key);
  if (expiresAt === Number.POSITIVE_INFINITY) return { caller, expiresAt };
  return { caller: { ...caller, expiresAt: timestamp(expiresAt) }, expiresAt };
}

export function expiryOf({ expires_at }: ApiKeyRecord): number {
  return expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at);
}

/** Whether a credential may be used from there. No address means that it was checked when the connection was opened. */
export function mayComeFrom({ allowedCidrs }: Caller, from: string | undefined): boolean {
  return allowedCidrs === undefined || from === undefined || isInRanges(from, allowedCidrs);
}

/** Whoever has a token of this key, with the scopes that it was given. */
export function tokenHolder(key: PresentedKey, scopes: readonly Scope[], tokenEndsAt: number): KnownCaller {
  const { caller, expiresAt } = holderUntil(key, tokenEndsAt);
  return { caller: { ...caller, scopes: new Set(scopes) }, expiresAt };
}

export function callerOf(record: ApiKeyRecord): Caller {
  return {
    actor: record.actor,
    tenantId: record.tenant_id,
    workspaceIds: record.workspace_ids,
    ...(record.agent_names == null ? {} : { agentNames: record.agent_names }),
    ...(record.persona_ids == null ? {} : { personaIds: record.persona_ids }),
    ...(record.allowed_cidrs == null ? {} : { allowedCidrs: record.allowed_cidrs }),
    scopes: new Set(record.scopes),
    keyId: record.id,
    ...(record.expires_at === null ? {} : { expiresAt: record.expires_at }),
  };
}

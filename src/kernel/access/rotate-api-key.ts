/**
 * Give an API key a new secret. Its id, rights and end stay. The old secret works until the overlap is over, so that clients can
 * change over without a gap; the one before that ends now.
 */

import { newApiKey, overlapSecondsDefault } from "../../policy/api-key.ts";
import { type Caller, isHarpScope, mayGrant } from "../../policy/caller.ts";
import type { TenantStore } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import { timestamp } from "../core/clock.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import { expiryOf } from "./client-keys.ts";
import type { CreatedApiKey } from "./create-api-key.ts";
import { assertNarrower } from "./key-bounds.ts";
import { type MadeByKey, madeByKey } from "./made-by-key.ts";

export interface RotateApiKey {
  keyId: string;
  overlapSeconds?: number | undefined;
}

export interface RotatedApiKey extends CreatedApiKey {
  /** It stays usable: if the old secret leaked, somebody must look at it. */
  made: MadeByKey;
}

export const rotateApiKey: Command<RotateApiKey, RotatedApiKey> = {
  name: "rotate_api_key",
  scope: "api_keys:write",
  audit: ({ overlapSeconds = overlapSecondsDefault }, { record }) =>
    audited("api_key.rotate", record, {
      name: record.name,
      actor: record.actor,
      overlap_seconds: overlapSeconds,
    }),
  decide(unit, { keyId, overlapSeconds = overlapSecondsDefault }) {
    const before = unit.require("api_key", keyId);
    assertUsable(before, unit.at);
    assertMayRotate(unit, before);
    assertNewestSecret(unit);
    assertMayHold(unit.caller, before);
    const { key, hash } = newApiKey(keyId);
    // Before the key ends: nothing that the old secret makes lasts as long as the key.
    const until = timestamp(Math.min(Date.parse(unit.at) + overlapSeconds * 1000, expiryOf(before) - 1));
    const previous = overlapSeconds === 0 ? null : { hash: before.hash, until };
    const record = unit.emit(before, "vendor.bridle.api_key.rotated", { hash, previous });
    return { record, key, made: unit.awaited("made", () => madeByKey(unit.own, keyId)) };
  },
  forRecord: ({ record, made }) => ({ record, key: null, made }),
};

function assertUsable({ id, revoked_at, expires_at }: ApiKeyRecord, at: string): void {
  const isOver = revoked_at !== null || (expires_at !== null && Date.parse(expires_at) <= Date.parse(at));
  if (!isOver) return;
  throw new HarnessError("conflict", `Key ${id} was revoked or has expired. Make a new key.`);
}

/**
 * Whoever rotates a key can act as its actor. So without `admin` it must be the caller's own key or one that it made. For an
 * approver or enforcer it must be the maker itself, even with `admin`: the maker counts when approvers are confirmed.
 */
function assertMayRotate(unit: Unit, key: ApiKeyRecord): void {
  const { keyId, scopes } = unit.caller;
  if (keyId === key.id) return;
  const isMaker = keyId === key.created_by_key_id;
  if (key.scopes.some(isHarpScope)) {
    if (isMaker) return;
    throw new HarnessError(
      "permission_denied",
      `Key ${key.id} is for an approver or enforcer: only the key itself or the credential that made it can rotate it. Revoke it and make a new key.`,
    );
  }
  const isTheirs =
    keyId !== undefined && unit.awaited(`maker ${key.id}`, () => isMadeBy(unit.own, key, keyId));
  if (scopes.has("admin") || isTheirs) return;
  throw new HarnessError(
    "permission_denied",
    `Without the scope admin, a key can rotate only itself and keys that it made; ${key.id} is neither.`,
    { details: { required_scope: "admin" } },
  );
}

/** Whether a key made another, or one of those that led to it. Who made a key never changes. */
async function isMadeBy(own: TenantStore, key: ApiKeyRecord, makerId: string): Promise<boolean> {
  for (let parent = key.created_by_key_id; parent !== undefined; ) {
    if (parent === makerId) return true;
    parent = ((await own.get("api_key", parent))?.body as ApiKeyRecord | undefined)?.created_by_key_id;
  }
  return false;
}

/** An old secret in its overlap, or a token, may be in other hands than the newest secret. */
function assertNewestSecret(unit: Unit): void {
  const { keyId, secretVersion } = unit.caller;
  if (keyId === undefined) return;
  const own = unit.findAsSystem("api_key", keyId);
  if (own !== undefined && secretVersion === (own.rotations ?? 0)) return;
  throw new HarnessError(
    "permission_denied",
    "Keys are rotated with the newest secret of a key, not with an old secret or an access token.",
  );
}

/** Whoever rotates a key holds it afterwards: it must not be worth more than what they have. */
function assertMayHold(caller: Caller, key: ApiKeyRecord): void {
  const missing = key.scopes.find((scope) => !mayGrant(caller, scope));
  if (missing !== undefined) {
    throw new HarnessError("permission_denied", `This key cannot rotate one that has the scope ${missing}.`, {
      details: { required_scope: missing },
    });
  }
  assertNarrower(caller, key);
  if (caller.expiresAt === undefined || expiryOf(key) <= Date.parse(caller.expiresAt)) return;
  throw new HarnessError(
    "permission_denied",
    "This credential ends before the key does, so it cannot rotate it. Use the key's newest secret, or a key that lasts longer.",
  );
}

/**
 * Give an API key a new secret. Its id, rights and end stay. The old secret works until the overlap is over, so that clients can
 * change over without a gap; the one before that ends now.
 */

import { newApiKey, overlapSecondsDefault } from "../../policy/api-key.ts";
import { type Caller, mayGrant } from "../../policy/caller.ts";
import { audited } from "../audit/record.ts";
import { timestamp } from "../clock.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { assertNarrower } from "../key-bounds.ts";
import type { ApiKeyRecord } from "../resources/api-key.ts";
import type { CreatedApiKey } from "./create-api-key.ts";

export interface RotateApiKey {
  keyId: string;
  overlapSeconds?: number | undefined;
}

export const rotateApiKey: Command<RotateApiKey, CreatedApiKey> = {
  name: "rotate_api_key",
  scope: "api_keys:write",
  audit: ({ overlapSeconds = overlapSecondsDefault }, { record }) =>
    audited("api_key.rotate", record, {
      name: record.name,
      actor: record.actor,
      overlap_seconds: overlapSeconds,
    }),
  async decide(unit, { keyId, overlapSeconds = overlapSecondsDefault }) {
    const before = await unit.require("api_key", keyId);
    assertUsable(before, unit.at);
    assertMayHold(unit.caller, before);
    const { key, hash } = newApiKey(keyId);
    const until = timestamp(Date.parse(unit.at) + overlapSeconds * 1000);
    const previous = overlapSeconds === 0 ? null : { hash: before.hash, until };
    return { record: unit.emit(before, "vendor.bridle.api_key.rotated", { hash, previous }), key };
  },
  forRecord: ({ record }) => ({ record, key: null }),
};

function assertUsable({ id, revoked_at, expires_at }: ApiKeyRecord, at: string): void {
  const isOver = revoked_at !== null || (expires_at !== null && Date.parse(expires_at) <= Date.parse(at));
  if (!isOver) return;
  throw new HarnessError("conflict", `Key ${id} was revoked or has expired. Make a new key.`);
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
  const ends = key.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(key.expires_at);
  if (caller.expiresAt === undefined || ends <= Date.parse(caller.expiresAt)) return;
  throw new HarnessError(
    "permission_denied",
    "This credential ends before the key does, so it cannot rotate it. Use the key's newest secret, or a key that lasts longer.",
  );
}

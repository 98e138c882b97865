/** Signing keys: the log has the public half of every key that ever signed a receipt here. */

import { isBound } from "../../policy/caller.ts";
import type { NewSigningKey, SigningKey } from "../../receipts/keys.ts";
import type { PublicJwk } from "../../receipts/public-keys.ts";
import type { Store } from "../../store/port.ts";
import { audited, recordAudit } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { SigningKeyRecord } from "../kinds/signing-key.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";

/** A key a day for years; more are not needed and not listed. */
const keysMax = 2000;

/** At start: the key in use is in the log before anything is signed with it. */
export const ensureSigningKey: Command<{ key: SigningKey }, SigningKeyRecord> = {
  name: "ensure_signing_key",
  scope: "admin",
  isAllowedWithoutRoom: true,
  decide(unit, { key }) {
    return unit.find("signing_key", key.kid) ?? addKey(unit, key);
  },
};

/** From now on receipts are signed with a new key. The old one stays listed; its private half is gone. */
export const rotateSigningKey: Command<{ next: NewSigningKey }, SigningKeyRecord> = {
  name: "rotate_signing_key",
  scope: "admin",
  isAllowedWithoutRoom: true,
  decide(unit, { next }) {
    if (unit.caller.tenantId !== defaultTenantId || isBound(unit.caller)) {
      throw new HarnessError(
        "permission_denied",
        "Signing keys are the server's: a key for all of its own tenant turns them.",
      );
    }
    // If the process dies here, the next start finds the new key and puts it into the log.
    unit.awaited("keep", async () => unit.deps.issuer.keep(next));
    return addKey(unit, next.key);
  },
  async afterwards({ issuer }, _caller, _result, { next }) {
    issuer.use(next);
  },
};

function addKey(unit: Unit, key: SigningKey): SigningKeyRecord {
  const { store } = unit.deps;
  // Also when the operator put another key file in place. The first key is no change.
  if (unit.awaited("any key", () => listSigningKeys(store)).length > 0) {
    recordAudit(unit, audited("signing_key.rotate", { object: "signing_key", id: key.kid }));
  }
  // Listed under the lock of the audit log: a rotation at the same time has its key in the list.
  const before = unit.awaited("keys before", () => listSigningKeys(store));
  for (const { id, retired_at } of before) {
    if (retired_at === null)
      unit.emit(unit.require("signing_key", id), "vendor.bridle.signing_key.retired", {});
  }
  const signing_key: SigningKeyRecord = {
    ...unit.envelope("signing_key", "key"),
    id: key.kid,
    metadata: {},
    jwk: key.jwk,
    issuer_id: before[0]?.issuer_id ?? unit.newId("harness"),
    retired_at: null,
  };
  return unit.emit(signing_key, "vendor.bridle.signing_key.created", { signing_key });
}

/** Every key that receipts of this server may be signed with, oldest first. */
async function listSigningKeys(store: Store): Promise<SigningKeyRecord[]> {
  const documents = await store.of(defaultTenantId).list({
    kind: "signing_key",
    order: "oldest_first",
    limit: keysMax,
  });
  return documents.map(({ body }) => body as SigningKeyRecord);
}

export async function publicKeys(store: Store): Promise<PublicJwk[]> {
  return (await listSigningKeys(store)).map(({ jwk }) => jwk);
}

/** The same with the end of those that have one: receipts outlive their key, cards and tokens do not. */
export async function publishedKeys(store: Store): Promise<(PublicJwk & { exp?: number })[]> {
  return (await listSigningKeys(store)).map(({ jwk, retired_at }) =>
    retired_at === null ? jwk : { ...jwk, exp: Math.floor(Date.parse(retired_at) / 1000) },
  );
}

/** Put a secret into a vault, or another value in its place. From here on only `ctx.secret` gives it out. */

import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { secretName, type VaultRecord, type VaultSecret } from "../kinds/vault.ts";
import { assertAllows, currentMasterKey, openDataKey, requireChangeable, sealEntry } from "./vaults.ts";

export interface SetSecret {
  vaultId: string;
  name: string;
  value: string;
  metadata?: JsonObject | undefined;
}

/** As a vault's document holds all its secrets, both the number and the size of them are small. */
const secretsMax = 200;
const valueBytesMax = 16 * 1024;
const metadataCharsMax = 4096;

export const setSecret: Command<SetSecret, VaultSecret> = {
  name: "set_secret",
  scope: "vaults:write",
  audit: ({ vaultId }, { name, version }) =>
    audited("secret.set", { object: "vault", id: vaultId }, { name, version }),
  decide(unit, { vaultId, name, value, metadata = {} }) {
    assertName(unit, name);
    assertSmall(value, metadata);
    const vault = requireChangeable(unit, vaultId);
    assertAllows(vault, "write");
    const before = vault.secrets.find((secret) => secret.name === name);
    if (before === undefined && vault.secrets.length >= secretsMax) {
      throw new HarnessError(
        "policy_violation",
        `Vault ${vault.id} is full: it holds ${secretsMax} secrets.`,
      );
    }
    const entry = sealEntry(
      openDataKey(unit.deps, vault),
      vault,
      {
        name,
        version: (before?.version ?? 0) + 1,
        serial: vault.serial + 1,
        key_version: vault.data_key.version,
        created_at: before?.created_at ?? unit.at,
        updated_at: unit.at,
        metadata,
      },
      value,
    );
    return secretIn(unit.emit(vault, "vendor.bridle.vault.secret_set", { entry }), name);
  },
  forRecord: (entry) => ({ ...entry, sealed: "" }),
  // A plain hash of a short secret is as good as the secret.
  fingerprint: (deps, canonical) => {
    currentMasterKey(deps);
    return deps.masterKeys.fingerprint(canonical);
  },
};

/** As it was written down. */
function secretIn({ id, secrets }: VaultRecord, name: string): VaultSecret {
  const found = secrets.find((secret) => secret.name === name);
  if (found === undefined) throw new Error(`Vault ${id} does not hold what was just put there`);
  return found;
}

function assertName({ redactor }: Unit, name: string): void {
  if (secretName.test(name) && redactor.text(name) === name) return;
  throw new HarnessError(
    "invalid_request",
    "A secret's name is up to 64 letters, digits, dots, dashes and underscores, begins with a letter, and is no secret itself.",
    { param: "secret_name" },
  );
}

function assertSmall(value: string, metadata: JsonObject): void {
  if (value === "") throw new HarnessError("invalid_request", "value must not be empty.", { param: "value" });
  if (!value.isWellFormed()) {
    throw new HarnessError("invalid_request", "value is not well-formed Unicode text.", { param: "value" });
  }
  if (Buffer.byteLength(value) > valueBytesMax) {
    throw new HarnessError("invalid_request", `value has at most ${valueBytesMax} bytes.`, {
      param: "value",
    });
  }
  if (JSON.stringify(metadata).length > metadataCharsMax) {
    throw new HarnessError("invalid_request", `metadata has at most ${metadataCharsMax} characters.`, {
      param: "metadata",
    });
  }
}

/** Delete a secret from a vault. What was sealed stays in the log; with the next data key nothing can open it. */

import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { notFound } from "../core/errors.ts";
import type { VaultSecret } from "../kinds/vault.ts";
import { assertAllows, requireChangeable } from "./vaults.ts";

export const deleteSecret: Command<{ vaultId: string; name: string }, VaultSecret> = {
  name: "delete_secret",
  scope: "vaults:write",
  audit: ({ vaultId }, { name, version }) =>
    audited("secret.delete", { object: "vault", id: vaultId }, { name, version }),
  isAllowedWithoutRoom: true,
  decide(unit, { vaultId, name }) {
    const vault = requireChangeable(unit, vaultId);
    assertAllows(vault, "delete");
    const secret = vault.secrets.find((each) => each.name === name);
    if (secret === undefined) throw notFound("secret", name);
    const { version } = secret;
    unit.emit(vault, "vendor.bridle.vault.secret_deleted", { name, version });
    return secret;
  },
  forRecord: (secret) => ({ ...secret, sealed: "" }),
};

/** Vaults and their secrets. Values go in and never come out again here. */

import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import { createVault } from "../../../kernel/vaults/create-vault.ts";
import { deleteSecret } from "../../../kernel/vaults/delete-secret.ts";
import { rotateMasterKey } from "../../../kernel/vaults/rotate-master-key.ts";
import { rotateVault } from "../../../kernel/vaults/rotate-vault.ts";
import { setSecret } from "../../../kernel/vaults/set-secret.ts";
import { presentPage } from "../lists.ts";
import { presentSecret, presentVault } from "../present.ts";
import { jsonObject } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf, pageQuery } from "../schemas.ts";
import {
  CreateVaultRequest,
  MasterKeyRotation,
  SetSecretRequest,
  Vault,
  VaultSecret,
} from "../schemas-vault.ts";

const tag = "Vaults";

export const vaultRoutes = [
  route({
    method: "GET",
    path: "/v1/vaults",
    operationId: "listVaults",
    scope: "vaults:read",
    summary: "List vaults, newest first, without what they hold.",
    tag,
    query: pageQuery("workspace_id"),
    response: ListOf(Vault),
    async handle(call) {
      const { workspace_id, cursor, limit } = call.query;
      const request = { workspaceId: workspace_id, cursor, limit };
      return presentPage(await listRecords(call, call.caller, "vault", request), presentVault);
    },
  }),
  route({
    method: "POST",
    path: "/v1/vaults",
    operationId: "createVault",
    scope: "vaults:write",
    summary: "Create a vault for a workspace, or for the whole tenant.",
    tag,
    status: 201,
    body: CreateVaultRequest,
    response: Vault,
    async handle(call) {
      const { workspace_id, provider, capabilities, metadata, source, login } = call.body;
      const vault = await call.dispatch(createVault, {
        workspaceId: workspace_id,
        provider,
        capabilities,
        metadata: jsonObject(metadata),
        source: source === undefined ? undefined : { ...source, mount: source.mount ?? "secret" },
        login,
      });
      return presentVault(vault);
    },
  }),
  route({
    method: "GET",
    path: "/v1/vaults/{vault_id}",
    operationId: "getVault",
    scope: "vaults:read",
    summary: "Read a vault's description.",
    tag,
    response: Vault,
    async handle(call) {
      return presentVault(await getRecord(call, call.caller, "vault", call.param("vault_id")));
    },
  }),
  route({
    method: "POST",
    path: "/v1/vaults/{vault_id}/rotate",
    operationId: "rotateVault",
    scope: "vaults:write",
    summary: "Give a vault a new data key and encrypt its secrets again.",
    tag,
    response: Vault,
    async handle(call) {
      return presentVault(await call.dispatch(rotateVault, { vaultId: call.param("vault_id") }));
    },
  }),
  route({
    method: "POST",
    path: "/v1/vaults/rotate-master-key",
    operationId: "rotateMasterKey",
    scope: "admin",
    summary: "Wrap every data key, of vaults and connectors, with a new master key.",
    tag,
    response: MasterKeyRotation,
    async handle(call) {
      const { masterKeyId, rewrapped, locked } = await call.dispatch(rotateMasterKey, {});
      return {
        object: "master_key_rotation",
        master_key_id: masterKeyId,
        rewrapped: rewrapped,
        locked: locked,
      };
    },
  }),
  route({
    method: "GET",
    path: "/v1/vaults/{vault_id}/secrets",
    operationId: "listSecrets",
    scope: "vaults:read",
    summary: "List the names and versions of a vault's secrets, without their values.",
    tag,
    response: ListOf(VaultSecret),
    async handle(call) {
      const { id, secrets } = await getRecord(call, call.caller, "vault", call.param("vault_id"));
      const data = secrets.map((secret) => presentSecret(id, secret));
      return { object: "list", data, page: { next_cursor: null, has_more: false } };
    },
  }),
  route({
    method: "PUT",
    path: "/v1/vaults/{vault_id}/secrets/{secret_name}",
    operationId: "setSecret",
    scope: "vaults:write",
    summary: "Put a secret into a vault. Its value cannot be read back.",
    tag,
    body: SetSecretRequest,
    response: VaultSecret,
    async handle(call) {
      const vaultId = call.param("vault_id");
      const { value, metadata } = call.body;
      const secret = await call.dispatch(setSecret, {
        vaultId,
        name: call.param("secret_name"),
        value,
        metadata: jsonObject(metadata),
      });
      return presentSecret(vaultId, secret);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/vaults/{vault_id}/secrets/{secret_name}",
    operationId: "deleteSecret",
    scope: "vaults:write",
    summary: "Delete a secret.",
    tag,
    response: VaultSecret,
    async handle(call) {
      const vaultId = call.param("vault_id");
      const secret = await call.dispatch(deleteSecret, { vaultId, name: call.param("secret_name") });
      return presentSecret(vaultId, secret);
    },
  }),
];

/** Vaults and their secrets. A value goes in, and no call reads it back. */

import {
  type Creatable,
  createCreatable,
  createReadable,
  type InWorkspace,
  pathOf,
  type Readable,
} from "./resources.ts";
import { segment, type Transport } from "./transport.ts";
import type {
  CallOptions,
  CreateVaultRequest,
  MasterKeyRotation,
  SetSecretRequest,
  Vault,
  VaultSecret,
  WriteOptions,
} from "./types.ts";

export interface Vaults extends Readable<Vault, InWorkspace>, Creatable<Vault, CreateVaultRequest> {
  /** Encrypts its secrets with a new data key. */
  rotate(id: string, options?: WriteOptions): Promise<Vault>;
  /** Wraps every data key with a new master key. */
  rotateMasterKey(options?: WriteOptions): Promise<MasterKeyRotation>;
  /** Names, versions and times, without the values. */
  secrets(id: string, options?: CallOptions): Promise<VaultSecret[]>;
  setSecret(
    id: string,
    name: string,
    request: SetSecretRequest,
    options?: WriteOptions,
  ): Promise<VaultSecret>;
  deleteSecret(id: string, name: string, options?: WriteOptions): Promise<VaultSecret>;
}

const kind = { object: "vault", path: "/v1/vaults" };

export function createVaults(transport: Transport): Vaults {
  const secretsAt = (id: string) => `${pathOf(kind, id)}/secrets`;
  const secretAt = (id: string, name: string) => `${secretsAt(id)}/${segment(name)}`;
  return {
    ...createReadable<Vault, InWorkspace>(transport, kind),
    ...createCreatable<Vault, CreateVaultRequest>(transport, kind),
    rotate: (id, options = {}) =>
      transport.resource<Vault>("vault", `${pathOf(kind, id)}/rotate`, { method: "POST", ...options }),
    rotateMasterKey(options = {}) {
      const ask = { method: "POST", ...options } as const;
      return transport.resource<MasterKeyRotation>(
        "master_key_rotation",
        `${kind.path}/rotate-master-key`,
        ask,
      );
    },
    async secrets(id, { signal } = {}) {
      return (await transport.page<VaultSecret>(secretsAt(id), { signal })).items;
    },
    setSecret(id, name, body, options = {}) {
      const ask = { method: "PUT", body, ...options } as const;
      return transport.resource<VaultSecret>("vault_secret", secretAt(id, name), ask);
    },
    deleteSecret: (id, name, options = {}) =>
      transport.resource<VaultSecret>("vault_secret", secretAt(id, name), { method: "DELETE", ...options }),
  };
}

/** A vault: secrets that runs may be given. Events and documents hold them sealed; only the server's master key opens them. */

import type { WrappedKey } from "../../policy/vault-crypto.ts";
import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

/** What is asked of a vault here: that runs may be given its secrets, and that they may be set and deleted. Others are kept as they are named. */
export type VaultCapability = "read" | "write" | "delete";

/** Where the secrets are: in the vault itself, or with somebody who is asked whenever one is read. */
export const vaultProviders = ["local", "env", "file", "hashicorp"] as const;
export type VaultProvider = (typeof vaultProviders)[number];

/** A path of the key-value store, version 2, of a HashiCorp Vault. */
export interface HashicorpSource {
  address: string;
  mount: string;
  path: string;
  namespace?: string;
}

/** Names that can be told from secrets: the key of a step that reads one has it in it, and is written down. */
export const secretName = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

export interface VaultSecret {
  name: string;
  /** Counts how often it was set. */
  version: number;
  /** Counts what was ever sealed in the vault, so that no two seals have the same belonging. */
  serial: number;
  key_version: number;
  sealed: string;
  created_at: string;
  updated_at: string;
  metadata: JsonObject;
}

export interface VaultRecord extends Resource<"vault"> {
  /** Null for a vault of the whole tenant. */
  workspace_id: string | null;
  provider: VaultProvider;
  capabilities: string[];
  source?: HashicorpSource;
  /** What the other side is asked with, sealed. */
  login?: VaultSecret;
  data_key: WrappedKey;
  serial: number;
  /** In the order of their names. A list, because a name as a member could be one that announces a secret. */
  secrets: VaultSecret[];
}

export function foldVault(vault: VaultRecord, event: KernelEvent): VaultRecord {
  const updated_at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.vault.secret_set": {
      const { entry } = event.payload;
      const others = vault.secrets.filter(({ name }) => name !== entry.name);
      const secrets = [...others, entry].sort((a, b) => (a.name < b.name ? -1 : 1));
      return { ...vault, secrets, serial: entry.serial, updated_at };
    }
    case "vendor.bridle.vault.secret_deleted": {
      const { name: deleted } = event.payload;
      return { ...vault, secrets: vault.secrets.filter(({ name }) => name !== deleted), updated_at };
    }
    case "vendor.bridle.vault.data_key_rotated": {
      const { data_key, secrets, serial } = event.payload;
      return { ...vault, data_key, secrets, serial, updated_at };
    }
    case "vendor.bridle.vault.data_key_rewrapped":
      return { ...vault, data_key: event.payload.data_key, updated_at };
    default:
      return vault;
  }
}

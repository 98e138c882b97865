/**
 * A secret for a run: of the vaults that its session names, in that order, then of its workspace's, then of the tenant's.
 * There is no other way to a secret's value.
 */

import { systemCaller } from "../../policy/caller.ts";
import { HarnessError } from "../core/errors.ts";
import { findVisible } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { VaultRecord } from "../kinds/vault.ts";
import { type HashicorpLogin, readHashicorp } from "./hashicorp.ts";
import { openDataKey, openEntry } from "./vaults.ts";

export interface SecretRequest {
  tenantId: string;
  workspaceId: string;
  sessionId: string;
  name: string;
  /** Only this vault, when it is named. */
  vaultId?: string | undefined;
}

export interface ReadSecret {
  value: string;
  vaultId: string;
  version: number;
}

/** Vaults looked at in one place. More of them is not a way to keep secrets. */
const vaultsMax = 1000;

type Deps = Pick<KernelDeps, "store" | "masterKeys" | "operatorSecrets" | "outbound" | "clock">;

export async function readSecret(deps: Deps, request: SecretRequest): Promise<ReadSecret> {
  for await (const vault of vaultsFor(deps, request)) {
    if (!vault.capabilities.includes("read")) continue;
    const found = await readFrom(deps, vault, request.name);
    if (found !== null) return { ...found, vaultId: vault.id };
  }
  throw new HarnessError(
    "resource_not_found",
    `No vault that this task may read holds the secret ${JSON.stringify(request.name)}.`,
  );
}

type Found = Omit<ReadSecret, "vaultId">;

/** An outside vault that cannot be asked is no reason to look into another one. */
async function readFrom(deps: Deps, vault: VaultRecord, name: string): Promise<Found | null> {
  const { operatorSecrets, outbound, clock } = deps;
  switch (vault.provider) {
    case "local": {
      const entry = vault.secrets.find((secret) => secret.name === name);
      if (entry === undefined) return null;
      return { value: openEntry(openDataKey(deps, vault), vault, entry), version: entry.version };
    }
    case "env":
      return unversioned(operatorSecrets.variable(name));
    case "file":
      return unversioned(await operatorSecrets.file(name));
    case "hashicorp": {
      const { source, login: sealed } = vault;
      if (source === undefined || sealed === undefined) return null;
      const login: HashicorpLogin = JSON.parse(openEntry(openDataKey(deps, vault), vault, sealed));
      return await readHashicorp({ outbound, clock }, vault.id, { source, login }, name);
    }
  }
}

function unversioned(value: string | null): Found | null {
  return value === null ? null : { value, version: 1 };
}

async function* vaultsFor({ store }: Deps, request: SecretRequest): AsyncGenerator<VaultRecord> {
  const { tenantId, workspaceId, sessionId, vaultId } = request;
  const caller = { ...systemCaller(tenantId), workspaceIds: [workspaceId] };
  if (vaultId !== undefined) {
    const vault = await findVisible(store, caller, "vault", vaultId);
    if (vault !== undefined) yield vault;
    return;
  }
  const session = await findVisible(store, caller, "session", sessionId);
  for (const id of session?.vault_ids ?? []) {
    const vault = await findVisible(store, caller, "vault", id);
    if (vault !== undefined) yield vault;
  }
  const own = await store.of(tenantId).list({
    kind: "vault",
    workspaceIds: [workspaceId],
    order: "oldest_first",
    limit: vaultsMax,
  });
  const vaults = own.map(({ body }) => body as VaultRecord);
  yield* vaults.filter((vault) => vault.workspace_id !== null);
  yield* vaults.filter((vault) => vault.workspace_id === null);
}

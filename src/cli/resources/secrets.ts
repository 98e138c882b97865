/** `bridle secret` and `bridle vault`: what runs read with `ctx.secret`, and where it is kept. */

import { type Command, Option } from "commander";
import type { BridleClient, MasterKeyRotation, Vault, VaultSecret } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { remoteCommand, type Settings } from "../task/command.ts";
import { standardInput } from "../task/given-json.ts";
import { momentText } from "../terminal/duration.ts";
import { show } from "../terminal/output.ts";
import { askHidden, canAsk } from "../terminal/prompt.ts";
import { oneLine } from "../terminal/text.ts";
import {
  addListAndShow,
  type Field,
  itemText,
  listText,
  type ResourceView,
  said,
  tableText,
} from "./view.ts";

interface PlaceSettings extends Settings {
  vault?: string;
  workspace?: string;
}

const secretFields: readonly Field<VaultSecret>[] = [
  { name: "Secret", isColumn: true, of: ({ name }) => name },
  { name: "Version", isColumn: true, of: ({ version }) => String(version) },
  { name: "Set", isColumn: true, of: ({ updated_at }) => momentText(updated_at) },
  { name: "Vault", isColumn: true, of: ({ vault_id }) => vault_id },
];

export function addSecretCommands(program: Command): void {
  const secret = program
    .command("secret")
    .description("Secrets that agents read with ctx.secret. No command shows a value.");
  placed(secret, "set <name>", "Set a secret to what is on standard input, or typed unseen.", [
    "bridle secret set GITHUB_TOKEN < token.txt",
  ]).action(async (name: string, settings: PlaceSettings) => {
    const { client } = new Remote(settings);
    const value = await givenSecret(name);
    const vaultId = (await vaultsOf(client, settings))[0]?.id ?? (await newVault(client, settings)).id;
    const set = await client.vaults.setSecret(vaultId, name, { value });
    said(settings, set, `${set.name} is set, version ${set.version}, in ${set.vault_id}.`);
  });
  placed(secret, "list", "List the names, versions and times of secrets.").action(
    async (settings: PlaceSettings) => {
      const secrets = await secretsIn(new Remote(settings).client, settings);
      show(settings, secrets, () =>
        tableText({ plural: "secrets", make: "bridle secret set NAME", fields: secretFields }, secrets),
      );
    },
  );
  placed(secret, "delete <name>", "Delete a secret. No run can read it from now on.").action(
    async (name: string, settings: PlaceSettings) => {
      const { client } = new Remote(settings);
      const [found, another] = (await secretsIn(client, settings)).filter((one) => one.name === name);
      if (found === undefined) throw new Error(`no secret ${oneLine(name)} ${placeText(settings)}.`);
      if (another !== undefined) {
        throw new Error(`${found.vault_id} and ${another.vault_id} both have it: give one with --vault.`);
      }
      const deleted = await client.vaults.deleteSecret(found.vault_id, name);
      said(settings, deleted, `${deleted.name} is deleted from ${deleted.vault_id}.`);
    },
  );
}

function placed(parent: Command, form: string, description: string, examples: string[] = []): Command {
  return remoteCommand(parent, form, description, examples)
    .addOption(new Option("--vault <id>", "in this vault").conflicts("workspace"))
    .option("--workspace <id>", "for this workspace only; for every workspace without it");
}

/** The vaults that are meant, oldest first. */
async function vaultsOf({ vaults }: BridleClient, { vault, workspace }: PlaceSettings): Promise<Vault[]> {
  if (vault !== undefined) return [await vaults.get(vault)];
  const found: Vault[] = [];
  const filter = workspace === undefined ? {} : { workspaceId: workspace };
  for await (const one of vaults.all(filter)) {
    // The secrets of others are elsewhere.
    if (one.provider === "local" && one.workspace_id === (workspace ?? null)) found.push(one);
  }
  return found.reverse();
}

async function newVault({ vaults }: BridleClient, { workspace }: PlaceSettings): Promise<Vault> {
  return await vaults.create({
    provider: "local",
    capabilities: ["read", "write", "delete"],
    workspace_id: workspace ?? null,
  });
}

async function secretsIn(client: BridleClient, settings: PlaceSettings): Promise<VaultSecret[]> {
  const found: VaultSecret[] = [];
  for (const { id } of await vaultsOf(client, settings)) found.push(...(await client.vaults.secrets(id)));
  return found;
}

function placeText({ vault, workspace }: PlaceSettings): string {
  if (vault !== undefined) return `in ${oneLine(vault)}`;
  return workspace === undefined
    ? "in the vaults of all workspaces; for one of a workspace, give --workspace"
    : `in the vaults of ${oneLine(workspace)}`;
}

/** Never an argument: those are in the history of the shell and in the list of processes. */
async function givenSecret(name: string): Promise<string> {
  const text = canAsk() ? await askHidden(`Value of ${oneLine(name)}: `) : await standardInput();
  // An editor or `echo` ends the line; that is no part of it.
  const value = text?.replace(/\r?\n$/, "") ?? "";
  if (value === "") throw new Error("no value was given; nothing was changed.");
  return value;
}

const vaultView: ResourceView<Vault> = {
  noun: "vault",
  plural: "vaults",
  make: "bridle vault create",
  isInWorkspace: true,
  all: ({ vaults }, filter) => vaults.all(filter),
  get: ({ vaults }, id) => vaults.get(id),
  fields: [
    { name: "Vault", isColumn: true, of: ({ id }) => id },
    { name: "Workspace", isColumn: true, of: ({ workspace_id }) => workspace_id ?? "all" },
    { name: "Secrets", isColumn: true, of: ({ secret_count }) => String(secret_count) },
    { name: "Allows", isColumn: true, of: ({ capabilities }) => listText(capabilities) },
    { name: "Data key", of: ({ data_key_version }) => `version ${data_key_version}` },
    { name: "Master key", of: ({ master_key_id }) => master_key_id },
  ],
};

export function addVaultCommands(program: Command): void {
  const vault = program.command("vault").description("The vaults that secrets are kept in, and their keys.");
  addListAndShow(vault, vaultView);
  remoteCommand(vault, "create", "Create a vault; `bridle secret set` does so when there is none.")
    .option("--workspace <id>", "for this workspace only; for every workspace without it")
    .action(async (settings: PlaceSettings) => {
      const made = await newVault(new Remote(settings).client, settings);
      show(settings, made, () => itemText(vaultView, made));
    });
  remoteCommand(
    vault,
    "rotate [vault]",
    "Encrypt the secrets of one vault with a new data key or, without a vault, lock all with a new master key.",
  ).action(async (id: string | undefined, settings: Settings) => {
    const { vaults } = new Remote(settings).client;
    if (id === undefined) {
      const rotation = await vaults.rotateMasterKey();
      show(settings, rotation, () => rotationText(rotation));
      return;
    }
    const rotated = await vaults.rotate(id);
    said(settings, rotated, `The secrets of ${rotated.id} have data key ${rotated.data_key_version}.`);
  });
}

function rotationText({ master_key_id, rewrapped, locked }: MasterKeyRotation): string {
  const left =
    locked.length === 0
      ? ""
      : `Left as they were, their master key is not here: ${oneLine(locked.join(", "))}\n`;
  return `Vaults are locked with ${oneLine(master_key_id)} from now on (${rewrapped} changed).\n${left}`;
}

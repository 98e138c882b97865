/** `bridle vault`: the key that vaults are locked with. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "../remote.ts";
import { type JsonSettings, show, withJson } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";

interface Rotation {
  master_key_id: string;
  rewrapped: number;
  locked: string[];
}

export function addVaultCommands(program: Command): void {
  const vault = program.command("vault").description("The vaults that secrets are kept in.");
  withRemoteOptions(
    withJson(
      vault
        .command("rotate")
        .description("Lock every vault with a new master key. What is in them stays readable throughout."),
    ),
  ).action(async (settings: RemoteSettings & JsonSettings) => {
    const rotation = await new Remote(settings).json<Rotation>("POST", "/v1/vaults/rotate-master-key");
    show(settings, rotation, () => inWords(rotation));
  });
}

function inWords({ master_key_id, rewrapped, locked }: Rotation): string {
  const left =
    locked.length === 0
      ? ""
      : `Left as they were, their master key is not here: ${oneLine(locked.join(", "))}\n`;
  return `Vaults are locked with ${oneLine(master_key_id)} from now on (${rewrapped} changed).\n${left}`;
}

/** `bridle vault`: the key that vaults are locked with. */

import type { Command } from "commander";
import { Remote, type RemoteSettings, withRemoteOptions } from "./remote.ts";

interface Rotation {
  master_key_id: string;
  rewrapped: number;
  locked: string[];
}

export function addVaultCommands(program: Command): void {
  const vault = program.command("vault").description("The vaults that secrets are kept in.");
  withRemoteOptions(
    vault
      .command("rotate")
      .description("Lock every vault with a new master key. What is in them stays readable throughout."),
  ).action(async (settings: RemoteSettings) => {
    const rotation = await new Remote(settings).json<Rotation>("POST", "/v1/vaults/rotate-master-key");
    const { master_key_id, rewrapped, locked } = rotation;
    process.stdout.write(`Vaults are locked with ${master_key_id} from now on (${rewrapped} changed).\n`);
    if (locked.length === 0) return;
    process.stdout.write(`Left as they were, their master key is not here: ${locked.join(", ")}\n`);
  });
}

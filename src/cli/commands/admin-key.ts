/** `bridle key admin`: the administrator's key of a server. */

import type { Command } from "commander";
import type { AdminKey } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { remoteCommand, type Settings } from "../task/command.ts";
import { show } from "../terminal/output.ts";
import { oneLine } from "../terminal/text.ts";
import { requireStore } from "./rebuild.ts";

export function addAdminKeyCommands(key: Command): void {
  const admin = key
    .command("admin")
    .description("The administrator's key: replace it, switch it off and on.");
  remoteCommand(admin, "rotate", "Replace the administrator's key. The new one is shown this once.").action(
    async (settings: Settings) => {
      const rotated = await new Remote(settings).client.adminKey.rotate();
      show(settings, rotated, () => withSecret(rotated));
    },
  );
  remoteCommand(admin, "disable", "Switch the administrator's key off; an admin API key must exist.").action(
    async (settings: Settings) => {
      const disabled = await new Remote(settings).client.adminKey.disable();
      show(settings, disabled, () => "The administrator's key no longer works.\n");
    },
  );
  remoteCommand(admin, "enable", "Switch the administrator's key on again.", [
    "BRIDLE_KEY=bridle_key_… bridle key admin enable",
    "bridle key admin enable --data .bridle    # without a key, server stopped",
  ]).action(async (settings: Settings) => {
    const { key } = settings;
    const enabled =
      key === undefined
        ? await enableOffline(settings.data)
        : await new Remote(settings).client.adminKey.enable();
    show(settings, enabled, () => "The administrator's key works again.\n");
  });
}

/** For whoever lost every other key: the data directory is theirs. */
async function enableOffline(data: string): Promise<AdminKey> {
  const directory = requireStore(data);
  const { enableStoredAdminKey } = await import("../serving/enable-admin-key.ts");
  await enableStoredAdminKey(directory);
  return { object: "admin_key", disabled_at: null };
}

/** The secret alone on the first line, so that a script can take it. */
function withSecret({ key }: AdminKey): string {
  const secret = key ?? "The key was shown before; it is in admin.key of the data directory.";
  return `${oneLine(secret)}\n\nThe old key no longer works. The new one is also in admin.key of the data directory.\n`;
}

/** How whoever starts a server gets into its console: by a link that works once, which `--open` opens. */

import { spawn } from "node:child_process";
import type { Server } from "../../server/server.ts";
import { isLoopbackHost } from "../../surfaces/loopback.ts";
import type { ServeSettings } from "../settings/settings.ts";

/**
 * The line of the greeting. What a server that others reach writes may be collected somewhere: a link that lets its reader in as the
 * administrator is only for a terminal, and for servers of this machine.
 */
export function consoleLine(server: Server, { host, open }: ServeSettings): string {
  const isSeenHereOnly = process.stdout.isTTY || isLoopbackHost(host);
  const link = isSeenHereOnly ? server.signInLink() : null;
  if (open) openBrowser(link ?? server.url);
  if (link === null) return `  Console   ${server.url}`;
  return `  Console   ${link}\n            signs you in once, within 10 minutes`;
}

const openers: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Where that is not possible, the address is on the screen. */
function openBrowser(address: string): void {
  const [command, ...args] = openers[process.platform] ?? ["xdg-open"];
  const opener = spawn(command, [...args, address], { stdio: "ignore", detached: true });
  opener.once("error", () => {
    process.stderr.write(
      `bridle: No browser could be opened (${command} is missing). Open the link above.\n`,
    );
  });
  opener.unref();
}

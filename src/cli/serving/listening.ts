/** What commands that listen have in common: how they say where their key is, and how they are stopped. */

import type { AdminKeyHolder } from "../../policy/admin-key.ts";
import type { CertificateWatch } from "../../surfaces/certificate-watch.ts";
import { exitCodes } from "../exit-codes.ts";

export function keyLines({ key, origin, file, isDisabled }: AdminKeyHolder): string {
  if (isDisabled) return "  API key   the administrator's key is disabled; use an API key";
  return {
    created: `  API key   ${key}\n            shown this once; kept in ${file}`,
    file: `  API key   in ${file}`,
    setting: "  API key   the one you set",
  }[origin];
}

/** SIGHUP reloads certificates, as service managers expect; in a terminal it still ends the command when the window closes. */
export function reloadOnHangup({ certificates }: { certificates: CertificateWatch | null }): void {
  if (certificates !== null && !process.stdin.isTTY) process.on("SIGHUP", () => certificates.reload());
}

/** Resolves at the first signal; the second ends the process on the spot, which loses nothing that was acknowledged. */
export function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}

/** Ends the process because its store takes no writes any more; whoever supervises it starts it again. */
export async function stopFailed(reason: string, stop: () => Promise<unknown>): Promise<void> {
  process.exitCode = exitCodes.failed.code;
  process.stderr.write(`bridle: Stopping: ${reason}.\n`);
  await stop();
  process.exit();
}

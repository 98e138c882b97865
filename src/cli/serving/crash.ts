/**
 * The end of the server that the console's "Crash it" asks for: this process is replaced by the same command on the spot. As with
 * `kill -9`, no code of it runs any more and its memory is gone; the terminal and the process ID stay, so Ctrl-C ends the new one.
 */

import { isLoopbackHost } from "../../surfaces/loopback.ts";
import type { ServeSettings } from "../settings/settings.ts";

interface Crash {
  settings: Pick<ServeSettings, "host" | "publicUrl">;
  /** As the command was started, with the secrets that were taken out of it since. */
  environment: NodeJS.ProcessEnv;
  /** Where the server listens: the new one does so again. */
  addresses(): { url: string; grpcUrl: string | null };
}

/** Null where nobody may ask for it: for servers that others reach, and on Windows, which replaces no process. */
export function crashOf({ settings, environment, addresses }: Crash): (() => void) | null {
  const { execve } = process;
  if (execve === undefined || !isLoopbackHost(settings.host) || settings.publicUrl !== undefined) return null;
  return () => {
    const { url, grpcUrl } = addresses();
    const ports = ["--port", portOf(url), ...(grpcUrl === null ? [] : ["--grpc-port", portOf(grpcUrl)])];
    const again = [...process.execArgv, ...process.argv.slice(1), ...ports, "--open=false"];
    process.stdout.write("\nThe server was crashed from the console. It starts again.\n");
    execve.call(process, process.execPath, [process.execPath, ...again], environment);
  };
}

function portOf(url: string): string {
  return new URL(url).port;
}

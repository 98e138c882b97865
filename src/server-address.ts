/** Where the server of a data directory listens, kept in the directory while it runs: commands beside it need not be told. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

function fileIn(dataDirectory: string): string {
  return join(dataDirectory, "server.json");
}

/** Gives what takes it back. */
export function keepAddress(dataDirectory: string, url: string): () => void {
  const file = fileIn(dataDirectory);
  writeFileSync(file, `${JSON.stringify({ url: reachable(url), pid: process.pid })}\n`, { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/** Null where no server runs. One that was killed leaves its address, which may be somebody else's by now. */
export function addressIn(dataDirectory: string): string | null {
  try {
    const { url, pid }: Partial<Record<string, unknown>> = JSON.parse(
      readFileSync(fileIn(dataDirectory), "utf8"),
    );
    if (typeof url !== "string" || !Number.isInteger(pid)) return null;
    return isRunning(Number(pid)) ? url : null;
  } catch {
    return null;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Everywhere is no place to connect to. */
function reachable(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

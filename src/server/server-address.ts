/** Where the server of a data directory listens, kept in the directory while it runs: commands beside it need not be told. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
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

/**
 * Null where no server runs. One that was killed leaves its address, which may be somebody else's by now. The folder may be anybody's, and
 * what is in the file is where a key is sent to: it has to be this machine.
 */
export function addressIn(dataDirectory: string): string | null {
  try {
    const { url, pid }: Partial<Record<string, unknown>> = JSON.parse(
      readFileSync(fileIn(dataDirectory), "utf8"),
    );
    if (typeof url !== "string" || !isHere(url) || !Number.isInteger(pid)) return null;
    return isRunning(Number(pid)) ? url : null;
  } catch {
    return null;
  }
}

function isHere(url: string): boolean {
  const { protocol, username, password, hostname } = URL.parse(url) ?? {};
  if (!/^https?:$/.test(protocol ?? "") || username !== "" || password !== "") return false;
  const host = hostname?.replaceAll(/[[\]]/g, "") ?? "";
  const ours = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  return /^(?:localhost|127\.[\d.]+|::1)$/.test(host) || ours.some(({ address }) => address === host);
}

function isRunning(pid: number): boolean {
  // Others than these are groups of processes.
  if (pid <= 0) return false;
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

/** A Bridle server with a new data directory on a real disk, as in production: every acknowledgement waits for its fsync. */

import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freshBundle } from "../build/fresh.ts";
import { type BenchProcess, startProcess } from "./process.ts";

export const benchKey = "bench-key-0123456789-abcdef";

export const opvsHeaders = {
  "content-type": "application/json",
  "a2a-version": "1.0",
  authorization: `Bearer ${benchKey}`,
};

export const harnHeaders = {
  "content-type": "application/json",
  "harn-agents-protocol-version": "agents-protocol-2026-04-25",
  authorization: `Bearer ${benchKey}`,
};

/** https://man7.org/linux/man-pages/man2/statfs.2.html */
const filesystems: Record<number, string> = {
  61267: "ext4",
  1481003842: "xfs",
  2435016766: "btrfs",
  1702057286: "hfs+",
  16914836: "tmpfs",
  2035054128: "overlayfs",
};
const tmpfs = 16914836;

const diskFolder = process.env.BENCH_DATA ?? tmpdir();

/** The file system that the data directories are on. An fsync on tmpfs costs nothing, so no result there means anything. */
export function diskName(): string {
  const { type } = statfsSync(diskFolder);
  if (type === tmpfs) throw new Error(`${diskFolder} is in memory. Set BENCH_DATA to a folder on a disk.`);
  return `${filesystems[type] ?? `file system 0x${type.toString(16)}`} (${diskFolder})`;
}

/** A new folder on the disk, removed at the end of the program at the latest. */
export function makeDataFolder(): Disposable & { path: string } {
  diskName();
  const path = mkdtempSync(join(diskFolder, "bridle-bench-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  process.on("exit", remove);
  return {
    path,
    [Symbol.dispose]() {
      process.off("exit", remove);
      remove();
    },
  };
}

export interface BenchBridle extends BenchProcess {
  data: string;
}

interface BridleOptions {
  /** Options of node. */
  node?: string[];
  /** Options of `bridle serve`. */
  serve?: string[];
  grpc?: boolean;
  ipc?: boolean;
}

export async function startBridle({
  node = [],
  serve = [],
  grpc = false,
  ipc = false,
}: BridleOptions = {}): Promise<BenchBridle> {
  const main = join(await freshBundle(), "main.js");
  const data = makeDataFolder();
  const flags = [
    "--port",
    "0",
    "--grpc-port",
    grpc ? "0" : "off",
    "--data",
    data.path,
    "--log-level",
    "error",
  ];
  const server = await startProcess([...node, main, "serve", ...flags, ...serve], {
    env: { BRIDLE_API_KEY: benchKey },
    waitFor: grpc ? "gRPC" : "URL",
    ipc,
  });
  return {
    ...server,
    data: data.path,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      data[Symbol.dispose]();
    },
  };
}

export function benchFile(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

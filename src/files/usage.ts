/**
 * How many bytes the files of each tenant have: counted on disk when somebody asks, then kept up to date by what is written here. Programs
 * that write into a workspace by themselves are included from the next count on.
 */

import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

const countEveryMs = 5 * 60_000;

interface Count {
  bytes: Promise<number>;
  countedAt: number;
}

export class FileUsage {
  readonly #directory: string;
  readonly #counts = new Map<string, Count>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async bytesOf(tenantId: string): Promise<number> {
    const known = this.#counts.get(tenantId);
    if (known !== undefined && performance.now() - known.countedAt < countEveryMs) return await known.bytes;
    const bytes = bytesIn(join(this.#directory, tenantId));
    this.#counts.set(tenantId, { bytes, countedAt: performance.now() });
    return await bytes;
  }

  /** Something was written or removed. What nobody has asked for is not kept. */
  add(tenantId: string, more: number): void {
    const known = this.#counts.get(tenantId);
    if (known !== undefined) known.bytes = known.bytes.then((bytes) => Math.max(0, bytes + more));
  }

  forget(tenantId: string): void {
    this.#counts.delete(tenantId);
  }
}

async function bytesIn(directory: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const entry of await opendir(directory, { recursive: true })) {
      if (entry.isFile()) bytes += await sizeOf(join(entry.parentPath, entry.name));
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  return bytes;
}

/** What is deleted in the meantime has no size. */
async function sizeOf(file: string): Promise<number> {
  return await lstat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

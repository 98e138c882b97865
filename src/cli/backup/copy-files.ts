/** The files of a data directory beside its databases, each copied once, on disk when it counts as copied. */

import { chmod, copyFile, type FileHandle, lstat, mkdir, open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface Copied {
  files: number;
  bytes: number;
}

/** Databases are copied in a way of their own; the rest is about the process that runs, who is signed in, or has not arrived yet. */
const leftOut =
  /^\.backup-part-|^(?:gateway\/)?(?:bridle\.db(?:-wal|-shm)?|lock\.db(?:-journal)?|server\.pid|server\.json|console-sessions\.json(?:\.new)?|blobs\/incoming)$/;
/** Also one that was being written when the process died. Files of workspaces may have these names too: they are deeper. */
const keyFile = /^(?:gateway\/)?[^/]+\.key(?:\.new)?$/;

export class FileCopier implements Copied {
  files = 0;
  bytes = 0;
  /** As it looked in the beginning. */
  readonly bytesExpected: number;
  readonly #source: string;
  readonly #target: string;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #copied = new Set<string>();

  readonly #isWanted: (path: string) => boolean;

  private constructor(source: string, target: string, sizes: ReadonlyMap<string, number>, hasKeys: boolean) {
    this.#source = source;
    this.#target = target;
    this.#isWanted = (path) => !leftOut.test(path) && (hasKeys || !keyFile.test(path));
    this.#sizes = sizes;
    this.bytesExpected = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  static async of(source: string, target: string, hasKeys = true): Promise<FileCopier> {
    const sizes = new Map<string, number>();
    for await (const { path, size } of filesIn(source, "", () => true)) sizes.set(path, size);
    return new FileCopier(source, target, sizes, hasKeys);
  }

  /** As it was in the beginning. */
  sizeOf(path: string): number {
    return this.#sizes.get(path) ?? 0;
  }

  /** What is below and was not copied yet. What disappears meanwhile was dropped. */
  async copyNew(folder: string, onFile: () => void): Promise<void> {
    for await (const { path, size, mode } of filesIn(this.#source, folder, this.#isWanted)) {
      if (this.#copied.has(path)) continue;
      const target = join(this.#target, path);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      if (!(await isCopied(join(this.#source, path), target))) continue;
      await chmod(target, mode & 0o777);
      await synced(target);
      this.#copied.add(path);
      this.files += 1;
      this.bytes += size;
      onFile();
    }
  }

  /** Counts a file that somebody else has put there. */
  async count(file: string): Promise<void> {
    await chmod(file, 0o600);
    await synced(file);
    this.files += 1;
    this.bytes += (await lstat(file)).size;
  }
}

interface FoundFile {
  path: string;
  size: number;
  mode: number;
}

/** Links are not followed: what they lead to is not ours. */
export async function* filesIn(
  root: string,
  folder: string,
  isWanted: (path: string) => boolean,
): AsyncGenerator<FoundFile> {
  const entries = await orNothing(() => readdir(join(root, folder), { withFileTypes: true }));
  for (const entry of entries ?? []) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (!isWanted(path)) continue;
    if (entry.isDirectory()) yield* filesIn(root, path, isWanted);
    if (!entry.isFile()) continue;
    const stat = await orNothing(() => lstat(join(root, path)));
    if (stat !== null) yield { path, size: stat.size, mode: stat.mode };
  }
}

async function isCopied(source: string, target: string): Promise<boolean> {
  return (
    (await orNothing(async () => {
      await copyFile(source, target);
      return true;
    })) === true
  );
}

async function synced(file: string): Promise<void> {
  await using handle: FileHandle = await open(file, "r");
  await handle.sync();
}

async function orNothing<T>(act: () => Promise<T>): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

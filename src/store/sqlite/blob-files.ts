/**
 * Content that is too large for the database: files under their SHA-256, `ab/abcdef…`, beside it. What arrives is written to
 * `incoming/` and hashed as it comes; it gets its name once it is whole and on disk, before the commit that speaks of it.
 * What a crash leaves in `incoming/` is removed at the next start.
 */

import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkedBlob, checkedChunks } from "../checked-blob.ts";
import { failPoint } from "../fail-point.ts";
import { BlobTooLarge, diskFaultOf, type OpenBlob, type StagedBlob, StoreUnavailable } from "../port.ts";
import { VerifiedFiles } from "./verified-files.ts";

const incoming = "incoming";

/** What is kept beside a database, by hash. */
export function blobFilesBeside(database: string | null): { sha256: string; bytes: number }[] {
  const directory = database === null ? "" : join(dirname(database), "blobs");
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && hashForm.test(entry.name))
    .map(({ name, parentPath }) => ({ sha256: name, bytes: statSync(join(parentPath, name)).size }));
}

const hashForm = /^[0-9a-f]{64}$/;

/** Content that lies beside the database. */
export type Blobs = Pick<BlobFiles, "whole" | "open" | "stage" | "remove">;

export class BlobFiles {
  readonly #directory: string;
  /** How many uploads of some content were kept and have not been let go of. */
  readonly #wanted = new Map<string, number>();
  readonly #verified = new VerifiedFiles();

  constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(directory: string): Promise<BlobFiles> {
    await rm(join(directory, incoming), { recursive: true, force: true });
    await mkdir(join(directory, incoming), { recursive: true, mode: 0o700 });
    return new BlobFiles(directory);
  }

  async whole(sha256: string): Promise<Uint8Array | undefined> {
    const file = this.#fileOf(sha256);
    const bytes = await orAbsent(() => readFile(file));
    return bytes === undefined ? undefined : checkedBlob(bytes, sha256, file);
  }

  async open(sha256: string): Promise<OpenBlob | undefined> {
    const file = this.#fileOf(sha256);
    const handle = await orAbsent(() => open(file, "r"));
    if (handle === undefined) return undefined;
    const stat = await handle.stat();
    const { size } = stat;
    return {
      bytes: size,
      read: async (start, end) => {
        const isWhole = start === 0 && end === size;
        if (!isWhole) await this.#verified.verify(file, sha256, stat);
        return readAndClose(handle, { start, end }, (chunks) =>
          isWhole ? checkedChunks(chunks, sha256, file) : chunks,
        );
      },
      close: () => handle.close(),
    };
  }

  async stage(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StagedBlob> {
    const arriving = join(this.#directory, incoming, randomBytes(16).toString("hex"));
    try {
      const { sha256, bytes } = await this.#receive(arriving, source, bytesMax);
      let isKept = false;
      return {
        sha256,
        bytes,
        keep: async () => {
          if (isKept) return;
          isKept = true;
          this.#want(sha256, 1);
          await this.#keep(arriving, sha256).catch((error: unknown) => {
            throw asUnavailable(error);
          });
        },
        discard: async () => {
          if (isKept) this.#want(sha256, -1);
          isKept = false;
          await rm(arriving, { force: true });
        },
      };
    } catch (error) {
      await rm(arriving, { force: true });
      throw asUnavailable(error);
    }
  }

  async #receive(
    file: string,
    source: AsyncIterable<Uint8Array>,
    bytesMax: number,
  ): Promise<{ sha256: string; bytes: number }> {
    const sum = createHash("sha256");
    let bytes = 0;
    await using handle = await open(file, "wx", 0o600);
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new BlobTooLarge(`More than ${bytesMax} bytes arrived`);
      sum.update(chunk);
      failPoint("blob.write");
      await writeAll(handle, chunk);
    }
    await handle.sync();
    return { sha256: sum.digest("hex"), bytes };
  }

  /** Equal content has an equal name, so putting it in place of what is there changes nothing. */
  async #keep(arrived: string, sha256: string): Promise<void> {
    const file = this.#fileOf(sha256);
    const directory = dirname(file);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await rename(arrived, file);
    await syncDirectory(directory);
    await syncDirectory(this.#directory);
  }

  /** Those that were kept for a commit which may be on its way stay. */
  async remove(sha256s: readonly string[]): Promise<{ count: number; bytes: number }> {
    let [count, bytes] = [0, 0];
    for (const sha256 of sha256s) {
      if (this.#wanted.has(sha256)) continue;
      const stat = await orAbsent(() => lstat(this.#fileOf(sha256)));
      if (stat === undefined) continue;
      await rm(this.#fileOf(sha256), { force: true });
      count += 1;
      bytes += stat.size;
    }
    return { count, bytes };
  }

  #want(sha256: string, more: 1 | -1): void {
    const wanted = (this.#wanted.get(sha256) ?? 0) + more;
    if (wanted > 0) this.#wanted.set(sha256, wanted);
    else this.#wanted.delete(sha256);
  }

  #fileOf(sha256: string): string {
    // Hashes come from documents of ours; a path is made of nothing else all the same.
    if (!hashForm.test(sha256)) return join(this.#directory, incoming, "none");
    return join(this.#directory, sha256.slice(0, 2), sha256);
  }
}

async function* readAndClose(
  handle: FileHandle,
  { start, end }: { start: number; end: number },
  check: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  await using opened = handle;
  if (end <= start) return;
  // What is given out is read from; a stream of the handle would have to be closed by hand when it is left early.
  yield* check(opened.createReadStream({ start, end: end - 1, autoClose: false }));
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; ) {
    written += (await handle.write(chunk, written)).bytesWritten;
  }
}

function asUnavailable(error: unknown): unknown {
  const fault = diskFaultOf(error);
  return fault === null
    ? error
    : new StoreUnavailable("The content could not be written", { fault, cause: error });
}

async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, "r");
  await handle.sync();
}

async function orAbsent<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

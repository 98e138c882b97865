/**
 * Reading and writing the files of a workspace.
 *
 * Invariants
 *   W1  Nothing outside the workspace's directory is read or written: the real path of every directory on the way is
 *       inside it, and the last name is never followed if it is a link.
 *   W2  A file is what it was or what was written, never half of it, also after a crash: it is written beside, brought to
 *       disk, and renamed.
 */

import { createHash, hash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, opendir, realpath, rename, rm } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { FileRefused, parsePath, temporaryPrefix } from "./safe-path.ts";
import { FileUsage } from "./usage.ts";

/** What a file may have that is read or written as text: it travels in one answer, and in the log of a run. */
export const fileBytesMax = 2 * 1024 * 1024;
/** Entries of a directory that are listed. */
const entriesMax = 10_000;
/** A dot stands before the tenant's name in some ids; nothing of this form is a way out of a directory. */
const idPattern = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9])){0,200}$/;

export interface WorkspaceFilesOptions {
  /** Where workspaces have their directories; null for no files at all. */
  directory: string | null;
  /** Directories in which a workspace of the server's own tenant may have its root. */
  allowedRoots?: readonly string[];
  /** What is never to be reached through an allowed root: the server's own data. */
  guarded?: string;
  /** Where a test makes the disk fail. */
  beforeWrite?: () => void;
}

export interface WorkspacePlace {
  id: string;
  tenantId: string;
  root: string;
  /** Whether it may use an allowed root: those are the operator's, not every tenant's. */
  mayUseRoots: boolean;
}

export interface FileText {
  kind: "file";
  content: string;
  bytes: number;
  sha256: string;
}

export interface FileEntry {
  name: string;
  kind: "file" | "directory";
  size: number;
}

export interface FileListing {
  kind: "directory";
  entries: FileEntry[];
}

export interface WrittenFile {
  path: string;
  sha256: string;
  bytes: number;
  /** What was there before. */
  before_sha256: string | null;
}

/** Real paths. */
export interface LocatedDirectory {
  root: string;
  directory: string;
  /** What the program should not see, though the workspace may be inside it. */
  guarded: string | null;
}

export class WorkspaceFiles {
  readonly #options: WorkspaceFilesOptions;
  readonly #usage: FileUsage | null;

  constructor(options: WorkspaceFilesOptions) {
    this.#options = options;
    this.#usage = options.directory === null ? null : new FileUsage(options.directory);
  }

  /** Of all workspaces of a tenant, except those in a root that the operator lent. */
  async bytesOf(tenantId: string): Promise<number> {
    return idPattern.test(tenantId) ? ((await this.#usage?.bytesOf(tenantId)) ?? 0) : 0;
  }

  /** A text file, or what is in a directory. */
  async read(place: WorkspacePlace, path: string): Promise<FileText | FileListing> {
    const names = parsePath(path);
    const root = await this.#root(place);
    const last = names.pop();
    if (last === undefined) return await list(root);
    const file = join(await enter(root, names, { isMaking: false }), last);
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    await using handle = await orRefused(() => open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    const stat = await handle.stat();
    if (stat.isDirectory()) return await list(file);
    if (!stat.isFile()) throw new FileRefused("kind", "This is neither a file nor a directory.");
    return textOf(await readBounded(handle));
  }

  async write(place: WorkspacePlace, path: string, content: string): Promise<WrittenFile> {
    const names = parsePath(path);
    const last = names.pop();
    if (last === undefined) throw new FileRefused("path", "A path names a file, not the workspace itself.");
    if (!content.isWellFormed())
      throw new FileRefused("text", "The content is not well-formed Unicode text.");
    const bytes = Buffer.from(content, "utf8");
    if (bytes.length > fileBytesMax)
      throw new FileRefused("size", `A file has at most ${fileBytesMax} bytes.`);
    const root = await this.#root(place);
    const parent = await enter(root, names, { isMaking: true });
    const file = join(parent, last);
    const before_sha256 = await hashOfFile(file);
    const bytesBefore = before_sha256 === null ? 0 : ((await sizeOf(file)) ?? 0);
    await replaceFile(parent, file, bytes, this.#options.beforeWrite);
    if (await this.#isOwn(place, root)) this.#usage?.add(place.tenantId, bytes.length - bytesBefore);
    return { path, sha256: hash("sha256", bytes, "hex"), bytes: bytes.length, before_sha256 };
  }

  /** Where a directory of the workspace really is, for a program that is to work in it. */
  async locate(place: WorkspacePlace, path: string): Promise<LocatedDirectory> {
    const root = await this.#root(place);
    const directory = await enter(root, parsePath(path), { isMaking: false });
    if (!(await lstat(directory)).isDirectory()) {
      throw new FileRefused("kind", "There is no directory at this path.");
    }
    const { guarded } = this.#options;
    return { root, directory, guarded: guarded === undefined ? null : await realOrNull(guarded) };
  }

  /** Removes all files of a workspace. A root that the operator lent is the operator's to empty. */
  async erase(place: Pick<WorkspacePlace, "id" | "tenantId">): Promise<void> {
    const made = this.#ownDirectory(place);
    if (made !== null) await rm(made, { recursive: true, force: true });
    this.#usage?.forget(place.tenantId);
  }

  async #isOwn(place: WorkspacePlace, root: string): Promise<boolean> {
    const made = this.#ownDirectory(place);
    return made !== null && (await realOrNull(made)) === root;
  }

  /** Of this workspace of this tenant and of no other, whatever their ids are. */
  #ownDirectory({ tenantId, id }: Pick<WorkspacePlace, "id" | "tenantId">): string | null {
    const { directory } = this.#options;
    // Ids are ours, but those of imported logs came from elsewhere.
    const isPlain = idPattern.test(id) && idPattern.test(tenantId);
    return directory === null || !isPlain ? null : join(directory, tenantId, id);
  }

  /** The real directory of a workspace. */
  async #root(place: WorkspacePlace): Promise<string> {
    const { directory } = this.#options;
    if (directory === null) throw new FileRefused("absent", "Workspaces have no files here.");
    const own = place.mayUseRoots ? await this.#allowedRoot(place.root) : null;
    if (own !== null) return own;
    const made = this.#ownDirectory(place);
    if (made === null) throw new FileRefused("absent", "This workspace has no files here.");
    await mkdir(made, { recursive: true, mode: 0o700 });
    return await realpath(made);
  }

  /** The workspace's own root, if it is a directory inside one that the operator allows. */
  async #allowedRoot(root: string): Promise<string | null> {
    const { allowedRoots = [], guarded } = this.#options;
    if (!isAbsolute(root)) return null;
    const real = await realOrNull(root);
    if (real === null || !(await lstat(real)).isDirectory()) return null;
    const data = guarded === undefined ? null : await realOrNull(guarded);
    if (data !== null && (isInside(data, real) || isInside(real, data))) return null;
    for (const allowed of allowedRoots) {
      const base = await realOrNull(allowed);
      if (base !== null && isInside(real, base)) return real;
    }
    return null;
  }
}

/** Goes down the directories, each where it really is (W1). */
async function enter(
  root: string,
  names: readonly string[],
  { isMaking }: { isMaking: boolean },
): Promise<string> {
  let at = root;
  for (const name of names) {
    const next = join(at, name);
    if (isMaking) await makeDirectory(next);
    const real = await orRefused(() => realpath(next));
    if (!isInside(real, root)) throw new FileRefused("path", "This path leads outside the workspace.");
    at = real;
  }
  return at;
}

async function makeDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
    await syncDirectory(join(directory, ".."));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw refusal(error);
  }
}

function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

async function list(directory: string): Promise<FileListing> {
  const found: { name: string; kind: FileEntry["kind"] }[] = [];
  for await (const entry of await opendir(directory)) {
    // Links and devices are not shown: nothing here reads them either.
    const kind = entry.isFile() ? "file" : entry.isDirectory() ? "directory" : null;
    if (kind === null || entry.name.startsWith(temporaryPrefix)) continue;
    if (found.length === entriesMax) {
      throw new FileRefused(
        "size",
        `This directory has more than ${entriesMax} entries; it cannot be listed.`,
      );
    }
    found.push({ name: entry.name, kind });
  }
  found.sort((a, b) => (a.name < b.name ? -1 : 1));
  const entries: FileEntry[] = [];
  for (const { name, kind } of found) {
    const size = kind === "directory" ? 0 : await sizeOf(join(directory, name));
    // What was deleted in between is not there.
    if (size !== null) entries.push({ name, kind, size });
  }
  return { kind: "directory", entries };
}

async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await lstat(file)).size;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

async function readBounded(handle: FileHandle): Promise<Buffer> {
  const buffer = Buffer.alloc(Math.min((await handle.stat()).size, fileBytesMax) + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
  }
  throw new FileRefused(
    "size",
    `This file is larger than ${fileBytesMax} bytes, or growing; it cannot be read here.`,
  );
}

function textOf(bytes: Buffer): FileText {
  try {
    const content = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { kind: "file", content, bytes: bytes.length, sha256: hash("sha256", bytes, "hex") };
  } catch {
    throw new FileRefused("text", "This file is not UTF-8 text; it cannot be read here.");
  }
}

/** Of what is there, or null when nothing is; refuses to go on when it is no file. */
async function hashOfFile(file: string): Promise<string | null> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let handle: FileHandle;
  try {
    handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw refusal(error);
  }
  await using opened = handle;
  if (!(await opened.stat()).isFile()) throw new FileRefused("kind", "There is a directory at this path.");
  const sum = createHash("sha256");
  for await (const chunk of opened.createReadStream({ autoClose: false })) sum.update(chunk);
  return sum.digest("hex");
}

async function replaceFile(
  directory: string,
  file: string,
  bytes: Uint8Array,
  beforeWrite: WorkspaceFilesOptions["beforeWrite"],
): Promise<void> {
  const beside = join(directory, `${temporaryPrefix}${randomBytes(12).toString("hex")}`);
  try {
    {
      await using handle = await open(beside, "wx", 0o600);
      beforeWrite?.();
      await handle.writeFile(bytes);
      await handle.sync();
    }
    await rename(beside, file);
  } catch (error) {
    await rm(beside, { force: true });
    throw refusal(error);
  }
  await syncDirectory(directory);
}

async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory, "r");
  await handle.sync();
}

async function realOrNull(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch {
    return null;
  }
}

async function orRefused<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw refusal(error);
  }
}

/** What the disk says, in our words, without the path: half of it could be half of a secret. The rest stays an error of ours. */
function refusal(error: unknown): unknown {
  switch (codeOf(error)) {
    case "ENOENT":
      return new FileRefused("absent", "There is nothing at this path.");
    case "ENOTDIR":
      return new FileRefused("kind", "A name on this path is a file, not a directory.");
    case "ELOOP":
    case "EMLINK":
      return new FileRefused("path", "This path leads through a symbolic link that is not followed.");
    case "ENXIO":
      return new FileRefused("kind", "This is neither a file nor a directory.");
    case "ENAMETOOLONG":
      return new FileRefused("path", "This path is too long for the disk.");
    case "ENOSPC":
      return new FileRefused("disk", "Cannot write the file (disk full).");
    case "EDQUOT":
      return new FileRefused("disk", "Cannot write the file (disk quota exceeded).");
    case "EROFS":
      return new FileRefused("disk", "Cannot write the file (read-only file system).");
    default:
      return error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

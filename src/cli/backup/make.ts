/**
 * A backup is a data directory like any other. It is made under another name, looked at, and gets its own in one step: what has the
 * name is whole, however the command ended.
 *
 * Blobs are copied before and after the database. A file is there before the commit that speaks of it, so the second time finds what
 * the copy of the database speaks of and the first did not see; what is dropped meanwhile was seen by the first.
 */

import { existsSync, realpathSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, open, rename, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { DataDirectoryInUse, lockDirectory } from "../../store/sqlite/lock.ts";
import { copyDatabase } from "../../store/sqlite/snapshot.ts";
import { version } from "../../version.ts";
import { exitCodes } from "../exit-codes.ts";
import { withProgress } from "../terminal/output.ts";
import { type Copied, FileCopier } from "./copy-files.ts";
import { encryptDirectory, encrypterFor } from "./encrypted.ts";
import { verifyBackup } from "./verify.ts";

export interface Backup extends Copied {
  directory: string;
  data: string;
  made_at: string;
  version: string;
  /** The last position of the log. */
  events: number;
  has_keys: boolean;
  /** What was damaged or missing already in what was copied. */
  problems: string[];
}

export interface BackupOptions {
  withoutKeys?: true;
  /** Recipients of age: the backup is one encrypted file. */
  encryptTo?: string[];
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function makeBackup(data: string, given: string, options: BackupOptions = {}): Promise<Backup> {
  const target = resolve(given);
  const encrypter = options.encryptTo === undefined ? null : encrypterFor(options.encryptTo);
  if (existsSync(target)) throw new Error(`${target} is there already; a backup is a new directory or file.`);
  if (isInside(data, target)) throw new Error(`${target} is inside of what is to be copied.`);
  await mkdir(dirname(target), { recursive: true });
  const beside = join(dirname(target), `.${basename(target)}.part-`);
  // Nothing that is not encrypted touches the disk of an encrypted backup.
  const partial = await mkdtemp(encrypter === null ? beside : join(data, ".backup-part-"));
  const encrypted = `${beside}${basename(partial).slice(-6)}`;
  const drop = () => {
    for (const path of encrypter === null ? [partial] : [partial, encrypted])
      rmSync(path, { recursive: true, force: true });
  };
  const giveUp = () => {
    drop();
    process.exit(exitCodes.interrupted.code);
  };
  for (const signal of endings) process.once(signal, giveUp);
  const locks = [data, join(data, "gateway")].map(heldMeanwhile);
  try {
    const made = await copyAll(data, partial, options);
    const backup = { directory: target, data, ...made };
    const { directory: _, ...facts } = backup;
    await writeFile(join(partial, "backup.json"), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
    await sync(partial);
    if (encrypter === null) await rename(partial, target);
    else {
      await encryptDirectory(partial, encrypted, encrypter);
      await rename(encrypted, target);
    }
    await sync(dirname(target));
    return backup;
  } finally {
    drop();
    for (const lock of locks) lock?.release();
    for (const signal of endings) process.off(signal, giveUp);
  }
}

/** Also by a link: a copy of the copy would be made with every backup, keys and all. */
function isInside(data: string, target: string): boolean {
  let above = dirname(target);
  while (!existsSync(above)) above = dirname(above);
  const [first = ""] = relative(realpathSync(data), realpathSync(above)).split(sep);
  return first !== "..";
}

/** A server that runs has the lock and is careful; one that does not must not start in the middle. */
function heldMeanwhile(directory: string): { release(): void } | null {
  if (!existsSync(directory)) return null;
  try {
    return lockDirectory(directory);
  } catch (error) {
    if (error instanceof DataDirectoryInUse) return null;
    throw error;
  }
}

async function copyAll(
  data: string,
  target: string,
  { withoutKeys }: BackupOptions,
): Promise<Omit<Backup, "directory" | "data">> {
  const hasKeys = withoutKeys !== true;
  const copier = await FileCopier.of(data, target, hasKeys);
  const copied = await await withProgress(
    "copied",
    async (shown) => {
      const tell = (more = 0) => shown.at(copier.bytes + more, copier.bytesExpected);
      const copyStore = async (part: string) => {
        const size = copier.sizeOf(join(part, "bridle.db"));
        await copyDatabase(join(data, part), join(target, part), (share) => tell(Math.round(share * size)));
        await copier.count(join(target, part, "bridle.db"));
      };
      await copier.copyNew("blobs", tell);
      const made_at = new Date().toISOString();
      // The server first: it asks the gateway again for what that does not know, and not the other way round.
      await copyStore("");
      if (existsSync(join(data, "gateway", "bridle.db"))) {
        await mkdir(join(target, "gateway"), { mode: 0o700 });
        await copyStore("gateway");
      }
      await copier.copyNew("", tell);
      return { made_at, version, files: copier.files, bytes: copier.bytes };
    },
    "bytes",
  );
  // Damage that was there before is better known now than when the copy is needed.
  const { events, problems } = await verifyBackup(target);
  return { ...copied, events, has_keys: hasKeys, problems };
}

async function sync(directory: string): Promise<void> {
  await using handle = await open(directory, "r");
  await handle.sync();
}

/** A data directory from a backup, plain or encrypted: made under another name, looked through, and only then given its own. */

import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { ageHeader, decrypterWith, decryptTo } from "./encrypted.ts";
import { type Verified, verifyBackup } from "./verify.ts";

export interface Restored extends Verified {
  directory: string;
  source: string;
}

export async function restoreBackup(
  given: string,
  to: string,
  identity: string | undefined,
): Promise<Restored> {
  const [source, target] = [resolve(given), resolve(to)];
  if (existsSync(target))
    throw new Error(`${target} is there already; move it away, or restore to another directory.`);
  const isDirectory = (await stat(source)).isDirectory();
  const decrypter = isDirectory ? null : await decrypterFor(source, identity);
  await mkdir(dirname(target), { recursive: true });
  const partial = await mkdtemp(join(dirname(target), `.${basename(target)}.part-`));
  try {
    if (decrypter === null) await cp(source, partial, { recursive: true, preserveTimestamps: true });
    else await decryptTo(source, partial, decrypter);
    const verified = await verifyBackup(partial);
    // About the backup, not about the server that comes of it.
    await rm(join(partial, "backup.json"), { force: true });
    await rename(partial, target);
    return { directory: target, source, ...verified };
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

async function decrypterFor(file: string, identity: string | undefined) {
  await using handle = await open(file, "r");
  const { buffer } = await handle.read(Buffer.alloc(ageHeader.length), 0, ageHeader.length);
  if (buffer.toString("latin1") !== ageHeader)
    throw new Error(`${file} is not a backup: neither a directory nor encrypted with age.`);
  if (identity === undefined)
    throw new Error(`${file} is encrypted: name the file with the secret key, --identity FILE.`);
  return await decrypterWith(identity);
}

/** Backups for a recipient of age (https://age-encryption.org/v1): one file, a tar archive inside. `age -d` and `tar` open it as well. */

import { createReadStream, createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Decrypter, Encrypter } from "age-encryption";
import { extractTar, tarOf } from "./tar.ts";

/** How every such file begins. */
export const ageHeader = "age-encryption.org/v1\n";

export function encrypterFor(recipients: readonly string[]): Encrypter {
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new Error(
        `${JSON.stringify(recipient)} is not a recipient of age: it begins with age1. "age-keygen" makes one.`,
      );
    }
  }
  return encrypter;
}

/** A file with secret keys, one a line, as age-keygen writes it. */
export async function decrypterWith(identityFile: string): Promise<Decrypter> {
  const decrypter = new Decrypter();
  const lines = (await readFile(identityFile, "utf8")).split(/\r?\n/).map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  // The key itself must not be in what is said about it.
  if (keys.length === 0) throw new Error(`${identityFile} has no secret key of age in it.`);
  for (const key of keys) {
    try {
      decrypter.addIdentity(key);
    } catch {
      throw new Error(
        `${identityFile} has a line that is no secret key of age: they begin with AGE-SECRET-KEY-1.`,
      );
    }
  }
  return decrypter;
}

export async function encryptDirectory(directory: string, file: string, encrypter: Encrypter): Promise<void> {
  const encrypted = await encrypter.encrypt(webStream(Readable.from(tarOf(directory))));
  await pipeline(
    Readable.fromWeb(encrypted),
    createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }),
  );
}

export async function decryptTo(file: string, directory: string, decrypter: Decrypter): Promise<void> {
  const plain = await decrypter.decrypt(webStream(createReadStream(file))).catch((error: unknown) => {
    throw new Error(`${file} cannot be decrypted with this identity.`, { cause: error });
  });
  await extractTar(plain, directory);
}

function webStream(stream: Readable): ReadableStream<Uint8Array> {
  // Node's own type of the same class, for chunks of any kind.
  return Readable.toWeb(stream) as ReadableStream<Uint8Array>;
}

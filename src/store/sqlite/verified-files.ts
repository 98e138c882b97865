/**
 * A part of a file has no hash of its own: before the first part of one is given out, all of it is read and compared. What was
 * right is not read again until the file has changed, or was forgotten.
 */

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { StoreDamaged } from "../port.ts";

/** Files remembered; above this, those that were asked for longest ago are read again. */
const filesMaxDefault = 1000;
/** Few turns of the event loop for a large file, and none that hashes for long. */
const chunkBytes = 256 * 1024;

interface Verified {
  /** What changes when a file is written to or replaced. */
  stamp: string;
  /** Shared by all who ask while it is being read. */
  verified: Promise<void>;
}

export class VerifiedFiles {
  readonly #filesMax: number;
  readonly #files = new Map<string, Verified>();

  constructor(filesMax = filesMaxDefault) {
    this.#filesMax = filesMax;
  }

  /** Throws `StoreDamaged`. */
  async verify(
    file: string,
    sha256: string,
    stat: { size: number; mtimeMs: number; ino: number },
  ): Promise<void> {
    const stamp = `${stat.size} ${stat.mtimeMs} ${stat.ino}`;
    const known = this.#files.get(sha256);
    const verified = known?.stamp === stamp ? known.verified : verifyFile(file, sha256);
    this.#files.delete(sha256);
    this.#files.set(sha256, { stamp, verified });
    const oldest = this.#files.size > this.#filesMax ? this.#files.keys().next().value : undefined;
    if (oldest !== undefined) this.#files.delete(oldest);
    try {
      await verified;
    } catch (error) {
      if (this.#files.get(sha256)?.verified === verified) this.#files.delete(sha256);
      throw error;
    }
  }
}

/** By a handle of its own: whoever asked first may have gone meanwhile. */
async function verifyFile(file: string, sha256: string): Promise<void> {
  await using handle = await open(file, "r");
  const sum = createHash("sha256");
  for await (const chunk of handle.createReadStream({ highWaterMark: chunkBytes, autoClose: false }))
    sum.update(chunk);
  if (sum.digest("hex") !== sha256) throw new StoreDamaged(file, { sha256 });
}

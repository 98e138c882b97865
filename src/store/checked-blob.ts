/** Content is named by its hash, and checked against it when it is read. */

import { createHash, hash } from "node:crypto";
import { StoreDamaged } from "./port.ts";

/** Throws `StoreDamaged`. */
export function checkedBlob(bytes: Uint8Array, sha256: string, file: string): Uint8Array {
  if (hash("sha256", bytes) !== sha256) throw new StoreDamaged(file, { sha256 });
  return bytes;
}

/** Keeps back the end until all of it was checked: whoever reads damaged content never gets the whole of it. */
export async function* checkedChunks(
  chunks: AsyncIterable<Uint8Array>,
  sha256: string,
  file: string,
): AsyncGenerator<Uint8Array> {
  const sum = createHash("sha256");
  let last: Uint8Array | null = null;
  for await (const chunk of chunks) {
    sum.update(chunk);
    if (last !== null) yield last;
    last = chunk;
  }
  if (sum.digest("hex") !== sha256) throw new StoreDamaged(file, { sha256 });
  if (last !== null) yield last;
}

/** Content of a database in memory, beside it as files are beside one on disk. */

import { createHash } from "node:crypto";
import { heldBlob } from "../held-blob.ts";
import { BlobTooLarge, type StagedBlob } from "../port.ts";
import type { Blobs } from "./blob-files.ts";

interface Held {
  bytes: Uint8Array;
  /** How many uploads of it were kept and have not been let go of. */
  wanted: number;
}

export class HeldBlobs implements Blobs {
  readonly #held = new Map<string, Held>();

  async whole(sha256: string): Promise<Uint8Array | undefined> {
    return this.#held.get(sha256)?.bytes;
  }

  async open(sha256: string) {
    const bytes = this.#held.get(sha256)?.bytes;
    return bytes === undefined ? undefined : heldBlob(bytes);
  }

  async stage(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StagedBlob> {
    const bytes = await collect(source, bytesMax);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    let kept: Held | null = null;
    return {
      sha256,
      bytes: bytes.length,
      keep: async () => {
        if (kept !== null) return;
        kept = this.#held.get(sha256) ?? { bytes, wanted: 0 };
        kept.wanted += 1;
        this.#held.set(sha256, kept);
      },
      async discard() {
        if (kept !== null) kept.wanted -= 1;
        kept = null;
      },
    };
  }

  async remove(sha256s: readonly string[]): Promise<{ count: number; bytes: number }> {
    let [count, bytes] = [0, 0];
    for (const sha256 of sha256s) {
      const held = this.#held.get(sha256);
      if (held === undefined || held.wanted > 0) continue;
      this.#held.delete(sha256);
      count += 1;
      bytes += held.bytes.length;
    }
    return { count, bytes };
  }
}

async function collect(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new BlobTooLarge(`More than ${bytesMax} bytes arrived`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

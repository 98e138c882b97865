/** Content that is in memory as a whole. */

import type { OpenBlob } from "./port.ts";

export function heldBlob(bytes: Uint8Array): OpenBlob {
  return {
    bytes: bytes.length,
    read: async (start, end) => part(bytes.subarray(start, end)),
    async close() {},
  };
}

async function* part(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

/** Which blobs nobody speaks of any more. Looked for in the whole log, page by page, with room for others in between. */

import { setImmediate as othersTurn } from "node:timers/promises";
import type { Position } from "../../../store/port.ts";
import type { WholeStore } from "../../../store/whole-store.ts";
import { readLog } from "../../core/log-tail.ts";
import { blobsOf } from "../../sessions/transfer/bundle.ts";

/** Looking again is only needed when somebody mentioned one of them meanwhile. */
const roundsMax = 10;

export interface Dropped {
  count: number;
  bytes: number;
}

/** Drops those of the candidates that no event speaks of, beside those that are about to go themselves. */
export async function dropUnreferenced(
  store: WholeStore,
  candidates: ReadonlySet<string>,
  going: ReadonlySet<Position> = new Set(),
): Promise<Dropped> {
  let left = new Set(candidates);
  let after = 0;
  const dropped: Dropped = { count: 0, bytes: 0 };
  for (let round = 0; round < roundsMax && left.size > 0; round++) {
    const head = await store.head();
    left = await unreferenced(store, left, after, going);
    const { kept, count, bytes } = await store.dropBlobs({ sha256s: [...left], scannedThrough: head });
    dropped.count += count;
    dropped.bytes += bytes;
    left = new Set(kept);
    after = head;
  }
  return dropped;
}

async function unreferenced(
  store: WholeStore,
  candidates: ReadonlySet<string>,
  after: Position,
  going: ReadonlySet<Position>,
): Promise<Set<string>> {
  const left = new Set(candidates);
  for await (const events of readLog(store, { after })) {
    const staying = events.filter(({ position }) => !going.has(position));
    for (const event of staying) for (const sha256 of blobsOf(event)) left.delete(sha256);
    if (left.size === 0) break;
    await othersTurn();
  }
  return left;
}

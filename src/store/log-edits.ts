/** Rows of the log as they are after content of theirs was replaced, or events were taken out of them. */

import type { RewriteRow } from "./batch-rows.ts";
import { checksumOf, entriesOf, type SummedRow } from "./log-rows.ts";
import type { Position } from "./port.ts";

export type EditedRow = SummedRow & { checksum: number };

/** The row with new content at some of its positions. */
export function replaced(row: SummedRow, changes: readonly RewriteRow[]): EditedRow {
  const entries = entriesOf(row);
  for (const { position, payload, replay } of changes) {
    const entry = entries[position - row.first];
    if (entry === undefined) throw new Error(`There is no event ${position} to rewrite`);
    entry[3] = JSON.parse(payload);
    if (replay !== null) entry[4] = JSON.parse(replay);
  }
  return summed({ ...row, events: JSON.stringify(entries) });
}

/** A row for each run of events that stay: the positions of a row have no gap. */
export function piecesLeft(row: SummedRow, going: ReadonlySet<Position>): EditedRow[] {
  const entries = entriesOf(row);
  const numbers: unknown[] = JSON.parse(row.numbers);
  return runsLeft(row.first, entries.length, going).map(([from, end]) =>
    summed({
      first: row.first + from,
      last: row.first + end - 1,
      shared: row.shared,
      events: JSON.stringify(entries.slice(from, end)),
      numbers: JSON.stringify(numbers.slice(from, end)),
    }),
  );
}

function summed(row: SummedRow): EditedRow {
  return { ...row, checksum: checksumOf(row) };
}

/** As indexes. */
function runsLeft(
  first: Position,
  length: number,
  going: ReadonlySet<Position>,
): [from: number, end: number][] {
  const runs: [number, number][] = [];
  for (let index = 0; index < length; index++) {
    if (going.has(first + index)) continue;
    const run = runs.at(-1);
    if (run !== undefined && run[1] === index) run[1] = index + 1;
    else runs.push([index, index + 1]);
  }
  return runs;
}

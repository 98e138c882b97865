/** The rows of a large batch on their way to the writer thread: what crosses at once is copied at once, on both sides. */

import type { BatchRows } from "../batch-rows.ts";
import type { NewBlob } from "../port.ts";

/** What is copied in a few milliseconds. */
const pageBytes = 512 * 1024;
/** About what a row takes beside its texts. */
const rowBytes = 200;

/** Some rows of one kind; `more` are further bytes of the last blob. */
export type RowsPage =
  | Partial<Pick<BatchRows, "expect" | "log" | "put" | "regained" | "texts" | "blobs">>
  | { more: Uint8Array };

/** All that grows with a batch. */
export function* pagesOf(rows: BatchRows): Generator<RowsPage> {
  for (const expect of pages(rows.expect, () => 0)) yield { expect };
  for (const log of pages(rows.log, ({ row, resourceIds }) => row[7].length + rowBytes * resourceIds.length))
    yield { log };
  for (const put of pages(rows.put, (row) => row[9].length)) yield { put };
  for (const regained of pages(rows.regained, () => 0)) yield { regained };
  for (const texts of pages(rows.texts, ([, text]) => text?.length ?? 0)) yield { texts };
  for (const blob of rows.blobs) yield* blobPages(blob);
}

/** What is left of the rows without them. */
export function unpaged(rows: BatchRows): BatchRows {
  return { ...rows, expect: [], log: [], put: [], regained: [], texts: [], blobs: [] };
}

/** The batch as it was. */
export function joined(rest: BatchRows, pages: readonly RowsPage[]): BatchRows {
  const rows = unpaged(rest);
  const parts: Uint8Array[] = [];
  const endBlob = () => {
    const last = rows.blobs.at(-1);
    if (parts.length > 0 && last?.bytes != null) last.bytes = Buffer.concat([last.bytes, ...parts.splice(0)]);
  };
  for (const page of pages) {
    if ("more" in page) {
      parts.push(page.more);
      continue;
    }
    endBlob();
    const { expect = [], log = [], put = [], regained = [], texts = [], blobs = [] } = page;
    rows.expect.push(...expect);
    rows.log.push(...log);
    rows.put.push(...put);
    rows.regained.push(...regained);
    rows.texts.push(...texts);
    rows.blobs.push(...blobs);
  }
  endBlob();
  return rows;
}

function* pages<Row>(rows: readonly Row[], bytesOf: (row: Row) => number): Generator<Row[]> {
  let [start, bytes] = [0, 0];
  for (const [index, row] of rows.entries()) {
    bytes += rowBytes + bytesOf(row);
    if (bytes < pageBytes) continue;
    yield rows.slice(start, index + 1);
    [start, bytes] = [index + 1, 0];
  }
  if (start < rows.length) yield rows.slice(start);
}

function* blobPages(blob: NewBlob): Generator<RowsPage> {
  const { bytes } = blob;
  // Copies: a part of a buffer crosses with all of it.
  const part = (start: number) => new Uint8Array(bytes?.subarray(start, start + pageBytes) ?? []);
  yield { blobs: [{ ...blob, bytes: bytes === null ? null : part(0) }] };
  for (let start = pageBytes; start < (bytes?.length ?? 0); start += pageBytes) yield { more: part(start) };
}

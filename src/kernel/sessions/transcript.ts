/** Reading a session's transcript: the messages of its log ranges, in order. */

import type { Position, TenantStore } from "../../store/port.ts";
import { readPages } from "../core/read-pages.ts";
import type { MessageRecord } from "../kinds/message.ts";
import type { TranscriptRange } from "../kinds/session.ts";

const pageSize = 200;

export interface TranscriptEntry {
  message: MessageRecord;
  position: Position;
}

/** A page of the transcript beyond an entry, oldest first. */
export async function readTranscript(
  store: TenantStore,
  ranges: readonly TranscriptRange[],
  { beyond, limit }: { beyond?: { born: Position; id: string } | undefined; limit: number },
): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  for (const range of ranges) {
    if (entries.length >= limit) break;
    const documents = await store.list({
      kind: "message",
      by: { sessionId: range.session_id },
      order: "oldest_first",
      beyond,
      bornAfter: range.after,
      bornThrough: range.through ?? undefined,
      limit: limit - entries.length,
    });
    for (const { body, born } of documents) entries.push({ message: body as MessageRecord, position: born });
  }
  return entries;
}

/** The last entries of the transcript, newest first. */
export async function readTranscriptEnd(
  store: TenantStore,
  ranges: readonly TranscriptRange[],
  limit: number,
): Promise<TranscriptEntry[]> {
  const entries: TranscriptEntry[] = [];
  for (const range of ranges.toReversed()) {
    if (entries.length >= limit) break;
    const documents = await store.list({
      kind: "message",
      by: { sessionId: range.session_id },
      order: "newest_first",
      bornAfter: range.after,
      bornThrough: range.through ?? undefined,
      limit: limit - entries.length,
    });
    for (const { body, born } of documents) entries.push({ message: body as MessageRecord, position: born });
  }
  return entries;
}

export async function* walkTranscript(
  store: TenantStore,
  ranges: readonly TranscriptRange[],
): AsyncGenerator<TranscriptEntry> {
  const pages = readPages<TranscriptEntry>((last) => {
    const beyond = last && { born: last.position, id: last.message.id };
    return readTranscript(store, ranges, { beyond, limit: pageSize });
  });
  for await (const page of pages) yield* page;
}

/** A page of a session's transcript, oldest first, as the session sees it: after forks and truncations. */

import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../access/authorize.ts";
import { noteContentRead } from "../audit/content-reads.ts";
import { blobBytes } from "../core/content.ts";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";
import { fitPage, getRecord, type Page, pageSizeDefault } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { MessageRecord } from "../kinds/message.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { readTranscript, readTranscriptEnd } from "./transcript.ts";

export async function listMessages(
  deps: KernelDeps,
  caller: Caller,
  request: { sessionId: string; cursor?: string | undefined; limit?: number | undefined },
): Promise<Page<MessageRecord>> {
  const session = await readableSession(deps, caller, request.sessionId);
  const limit = request.limit ?? pageSizeDefault;
  const beyond = request.cursor === undefined ? undefined : decodeCursor("message", request.cursor);
  const entries = await readTranscript(deps.store.of(caller.tenantId), session.ranges, {
    beyond,
    limit: limit + 1,
  });
  const shown = fitPage(entries, limit, ({ message }) => blobBytes(message.parts));
  const last = shown.at(-1);
  const more = entries.length > shown.length && last !== undefined;
  return {
    data: shown.map(({ message }) => ({ ...message, session_id: session.id })),
    nextCursor: more ? encodeCursor("message", { born: last.position, id: last.message.id }) : null,
  };
}

/** The last messages of a session, oldest first: as many as asked for, or as fit in a page. */
export async function lastMessages(
  deps: KernelDeps,
  caller: Caller,
  { sessionId, limit }: { sessionId: string; limit: number },
): Promise<MessageRecord[]> {
  const session = await readableSession(deps, caller, sessionId);
  const entries = await readTranscriptEnd(deps.store.of(caller.tenantId), session.ranges, limit);
  return fitPage(entries, limit, ({ message }) => blobBytes(message.parts))
    .map(({ message }) => ({ ...message, session_id: session.id }))
    .reverse();
}

async function readableSession(deps: KernelDeps, caller: Caller, id: string): Promise<SessionRecord> {
  requireScope(caller, "messages:read");
  const session = await getRecord(deps, caller, "session", id);
  await noteContentRead(deps, caller, { kind: "session", id: session.id }, "messages");
  return session;
}

/** A page of a session's transcript, oldest first, as the session sees it: after forks and truncations. */

import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../access/authorize.ts";
import { noteContentRead } from "../audit/content-reads.ts";
import { blobBytes } from "../core/content.ts";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";
import { fitPage, getRecord, type Page, pageSizeDefault } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { MessageRecord } from "../kinds/message.ts";
import { readTranscript } from "./transcript.ts";

export async function listMessages(
  deps: KernelDeps,
  caller: Caller,
  request: { sessionId: string; cursor?: string | undefined; limit?: number | undefined },
): Promise<Page<MessageRecord>> {
  requireScope(caller, "messages:read");
  const session = await getRecord(deps, caller, "session", request.sessionId);
  await noteContentRead(deps, caller, { kind: "session", id: session.id }, "messages");
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

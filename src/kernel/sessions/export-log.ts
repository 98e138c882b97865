/** The log of a session or of one task, line by line, as a file that stands alone. */

import type { Caller } from "../../policy/caller.ts";
import type { JsonValue, StoredEvent, TenantStore } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { readScope } from "../access/read-scopes.ts";
import { noteAudit } from "../audit/note.ts";
import { audited } from "../audit/record.ts";
import { unseal } from "../core/content.ts";
import { runCommand } from "../core/dispatch.ts";
import { asKernelEvent } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import { getRecord } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { ReceiptDeps } from "../receipts/read-receipts.ts";
import { assertWhole } from "../retention/erasure/assert-not-erased.ts";
import { isExtent, readConversation } from "./chat-transcript.ts";
import { blobLines, blobsOf, eventLine, type LogHeader, logFormat } from "./transfer/bundle.ts";

/** What the log of a session is about. A file with holes could not be imported, so the caller must be able to read all of it. */
const exportedKinds = ["session", "message", "artifact", "task", "receipt", "branch"] as const;

type Exported = { sessionId: string } | { taskId: string };

/** Everything is in it, internal content too: each export is in the audit log. */
export async function exportLog(
  deps: KernelDeps,
  caller: Caller,
  of: Exported,
): Promise<AsyncGenerator<string>> {
  const exported = await logLines(deps, caller, of);
  const [object, id] = "taskId" in of ? ["task", of.taskId] : ["session", of.sessionId];
  await runCommand(deps, noteAudit, caller, audited(`${object}.export`, { object, id }));
  return exported;
}

/** The same without a record, for logs that stay here. */
export async function logLines(
  deps: ReceiptDeps,
  caller: Caller,
  of: Exported,
): Promise<AsyncGenerator<string>> {
  requireScope(caller, "events:read");
  requireScope(caller, "events:read_internal");
  for (const kind of exportedKinds) requireScope(caller, readScope[kind]);
  const task = "taskId" in of ? await getRecord(deps, caller, "task", of.taskId) : null;
  const sessionId = task?.session_id ?? ("sessionId" in of ? of.sessionId : "");
  const session = await getRecord(deps, caller, "session", sessionId);
  assertWhole(session);
  await deps.receipts.caughtUp();
  const { id, name, root } = await getRecord(deps, caller, "workspace", session.workspace_id);
  const header: LogHeader = {
    format: logFormat,
    tenant_id: session.tenant_id,
    session_id: session.id,
    task_id: task?.id ?? null,
    workspace: { id, name, root },
  };
  return lines(deps.store.of(caller.tenantId), header);
}

async function* lines(store: TenantStore, header: LogHeader): AsyncGenerator<string> {
  yield JSON.stringify(header);
  const filter = header.task_id === null ? { sessionId: header.session_id } : { taskId: header.task_id };
  const given = new Set<string>();
  let count = 0;
  for await (const events of readLog(store, { ...filter, after: 0 })) {
    for (const stored of events.filter(travels)) {
      const event = header.task_id === null ? stored : await standingAlone(store, stored);
      for (const sha256 of blobsOf(event)) {
        const bytes = given.has(sha256) ? undefined : await store.blob(sha256);
        given.add(sha256);
        if (bytes !== undefined) yield* blobLines({ sha256, bytes });
      }
      yield eventLine(event);
      count += 1;
    }
  }
  yield JSON.stringify({ end: { events: count } });
}

/** What a task read of its session is not in the log of the task: its file has what was read instead of where it is. */
async function standingAlone(store: TenantStore, stored: StoredEvent): Promise<StoredEvent> {
  const event = asKernelEvent(stored);
  if (event.event !== "span.completed" || event.payload.kind !== "conversation") return stored;
  const { result } = event.payload;
  const extent = "output" in result ? await unseal(result.output, store) : null;
  if (!isExtent(extent)) return stored;
  const said: JsonValue = await readConversation(store, extent);
  return { ...stored, payload: { ...event.payload, result: { output: { inline: said } } } };
}

/** Webhooks are told by the server that they were registered with, and shells come back to the one that they spoke with. */
function travels({ resource }: StoredEvent): boolean {
  return resource.object !== "push_config" && resource.object !== "shell_link";
}

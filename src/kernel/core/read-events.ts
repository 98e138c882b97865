/** Reading the log: a range of events, one event, or everything from a cursor on as it happens, as far as the caller may read it. */

import type { Caller } from "../../policy/caller.ts";
import { maySee } from "../../policy/caller.ts";
import { pauseIfLate } from "../../slices.ts";
import type { Position, StoredEvent, TenantStore } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { readableEvents, readScopeOf } from "../access/read-scopes.ts";
import { noteContentRead, placeOf } from "../audit/content-reads.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { type LogPart, trimmedThrough } from "../retention/trimmed-through.ts";
import { isFinal } from "../tasks/lifecycle.ts";
import { blobBytes } from "./content.ts";
import { HarnessError, notFound } from "./errors.ts";
import { asKernelEvent, eventId, findPosition, positionOf, terminalEvents } from "./events.ts";
import { followLog, type LogFilter, type LogTail, readLog } from "./log-tail.ts";
import { fitPage, getRecord, type Page, pageSizeDefault, type ReadDeps } from "./read.ts";
import type { KernelDeps } from "./unit.ts";

/** Which events: all that the caller may see, or those of a workspace, a session, a task. */
export interface EventScope {
  workspaceId?: string | undefined;
  sessionId?: string | undefined;
  taskId?: string | undefined;
}

export interface EventRange extends EventScope {
  /** Only events of these kinds. */
  kinds?: ReadonlySet<string> | undefined;
  afterEventId?: string | undefined;
  /** What the caller called the cursor, for the error that names it. */
  cursorParam?: string | undefined;
  limit?: number | undefined;
}

export async function listEvents(
  deps: KernelDeps,
  caller: Caller,
  request: EventRange,
): Promise<Page<StoredEvent>> {
  const { query, task } = await authorize(deps, caller, request);
  // The log of a task is whole when its receipt is there, and other logs are shown with the receipts of what they have.
  if (task !== null && isFinal(task.status)) await deps.receipts.caughtUp();
  else await deps.receipts.nearlyCaughtUp();
  const limit = request.limit ?? pageSizeDefault;
  const after = await cursorPosition(deps, caller, request, query);
  const { events, through } = await readVisible(
    deps.store.of(caller.tenantId),
    { ...query, after },
    limit + 1,
    shownTo(caller, request.kinds),
  );
  const data = fitPage(events, limit, contentBytes);
  const next = events.length > data.length ? (data.at(-1)?.position ?? null) : through;
  return { data, nextCursor: next === null ? null : eventId(next) };
}

/** Events that one request looks at in search of those that its caller may read. */
const scannedMax = 2000;
const scannedAtOnce = 200;

/** Which events a caller wants of those that it may read; null for all of them. */
function shownTo(
  caller: Caller,
  kinds: ReadonlySet<string> | undefined,
): ((event: StoredEvent) => boolean) | null {
  const isReadable = readableEvents(caller);
  if (kinds === undefined) return isReadable;
  return (event) => kinds.has(event.event) && (isReadable === null || isReadable(event));
}

/**
 * The first events that the caller may read. `through` is set when there may be more behind what was looked at: a page
 * can be empty and have a next one.
 */
async function readVisible(
  store: TenantStore,
  filter: LogFilter,
  wanted: number,
  isShown: ReturnType<typeof shownTo>,
): Promise<{ events: StoredEvent[]; through: Position | null }> {
  if (isShown === null) return { events: await store.events({ ...filter, limit: wanted }), through: null };
  const events: StoredEvent[] = [];
  let { after } = filter;
  for (let scanned = 0; scanned < scannedMax; scanned += scannedAtOnce) {
    const page = await store.events({ ...filter, after, limit: scannedAtOnce });
    events.push(...page.filter(isShown));
    if (events.length >= wanted) return { events: events.slice(0, wanted), through: null };
    if (page.length < scannedAtOnce) return { events, through: null };
    after = page.at(-1)?.position ?? after;
    await pauseIfLate();
  }
  return { events, through: after };
}

function contentBytes(stored: StoredEvent): number {
  const event = asKernelEvent(stored);
  switch (event.event) {
    case "user.message":
    case "agent.message":
    case "vendor.bridle.message":
      return blobBytes(event.payload.message.parts);
    case "task.submitted":
      return "payload" in event.payload.task.input ? blobBytes(event.payload.task.input.payload) : 0;
    case "artifact.updated":
      return blobBytes(event.payload.chunk);
    case "span.started":
      return event.payload.host_call === undefined ? 0 : blobBytes(event.payload.host_call.input);
    case "span.updated":
      return event.payload.directive === undefined ? 0 : blobBytes(event.payload.directive);
    case "span.completed":
      return "output" in event.payload.result ? blobBytes(event.payload.result.output) : 0;
    default:
      return 0;
  }
}

export async function getEvent(deps: KernelDeps, caller: Caller, id: string): Promise<StoredEvent> {
  const { store } = deps;
  requireScope(caller, "events:read");
  const position = findPosition(id);
  if (position === null) throw notFound("event", id);
  const [event] = await store
    .of(caller.tenantId)
    .events({ after: position - 1, through: position, limit: 1 });
  // As in lists and streams: what belongs to no workspace is not for a caller that is bound to some.
  const hidden = caller.workspaceIds !== null && event?.workspaceId === null;
  if (event === undefined || hidden || !maySee(caller, event.tenantId, event.workspaceId)) {
    throw notFound("event", id);
  }
  requireScope(caller, readScopeOf(event));
  const read = placeOf(caller, { sessionId: event.sessionId, workspaceId: event.workspaceId ?? undefined });
  await noteContentRead(deps, caller, read, "events");
  return event;
}

/** History first, then live, without gap or duplicate, until the signal says stop; of a task, until its receipt is there. */
export async function followEvents(
  deps: KernelDeps & { tail: LogTail },
  caller: Caller,
  request: EventRange,
  signal: AbortSignal,
): Promise<AsyncGenerator<StoredEvent[]>> {
  const { query, task } = await authorize(deps, caller, request);
  const after = await cursorPosition(deps, caller, request, query);
  const filter = { ...query, after };
  const store = deps.store.of(caller.tenantId);
  const pages =
    task === null
      ? followLog(store, deps.tail, filter, signal)
      : followTask(deps, task, { store, filter, signal });
  return readable(withoutGap(store, pages, filter, request.cursorParam), shownTo(caller, request.kinds));
}

/** What follows the end of a task is its receipt. */
async function* followTask(
  { tail, receipts }: Pick<KernelDeps, "receipts"> & { tail: LogTail },
  { id, status }: TaskRecord,
  { store, filter, signal }: { store: TenantStore; filter: LogFilter; signal: AbortSignal },
): AsyncGenerator<StoredEvent[]> {
  const isEnd = ({ event, resource }: StoredEvent) => resource.id === id && terminalEvents.has(event);
  let after = filter.after;
  if (!isFinal(status)) {
    for await (const page of followLog(store, tail, filter, signal)) {
      yield page;
      after = page.at(-1)?.position ?? after;
      if (page.some(isEnd)) break;
    }
    if (signal.aborted) return;
  }
  await receipts.caughtUp();
  yield* readLog(store, { ...filter, after });
}

async function* readable(
  pages: AsyncGenerator<StoredEvent[]>,
  isShown: ReturnType<typeof shownTo>,
): AsyncGenerator<StoredEvent[]> {
  for await (const page of pages) {
    const shown = isShown === null ? page : page.filter(isShown);
    if (shown.length > 0) yield shown;
  }
}

/** A reader that is slower than retention is told that it missed something. */
async function* withoutGap(
  store: TenantStore,
  pages: AsyncGenerator<StoredEvent[]>,
  filter: LogFilter,
  param = "after_event_id",
): AsyncGenerator<StoredEvent[]> {
  let seen = Math.max(filter.after, await trimmedThrough(store, filter));
  for await (const page of pages) {
    if ((await trimmedThrough(store, filter)) > seen) throw expired(eventId(seen), param);
    yield page;
    seen = Math.max(seen, page.at(-1)?.position ?? 0);
  }
}

async function authorize(
  deps: KernelDeps,
  caller: Caller,
  { workspaceId, sessionId, taskId }: EventScope,
): Promise<{ query: Omit<LogFilter, "after">; task: TaskRecord | null }> {
  requireScope(caller, "events:read");
  const task = taskId === undefined ? null : await getRecord(deps, caller, "task", taskId);
  if (sessionId !== undefined) await getRecord(deps, caller, "session", sessionId);
  if (workspaceId !== undefined) await getRecord(deps, caller, "workspace", workspaceId);
  const read = placeOf(caller, { sessionId: task?.session_id ?? sessionId, workspaceId });
  await noteContentRead(deps, caller, read, "events");
  const workspaceIds = workspaceId === undefined ? (caller.workspaceIds ?? undefined) : [workspaceId];
  return { query: { workspaceIds, sessionId, taskId }, task };
}

/** A cursor that the log cannot continue from is refused; pretending to be continuous would lose events. */
export async function cursorPosition(
  { store }: ReadDeps,
  caller: Caller,
  { afterEventId, cursorParam: param = "after_event_id" }: EventRange,
  part: LogPart,
): Promise<Position> {
  if (afterEventId === undefined) return 0;
  const position = positionOf(afterEventId, param);
  if (position > (await store.head())) {
    throw new HarnessError("cursor_expired", `The log has no event ${afterEventId} to continue from.`, {
      param,
    });
  }
  if (position < (await trimmedThrough(store.of(caller.tenantId), part))) throw expired(afterEventId, param);
  return position;
}

function expired(cursor: string, param: string): HarnessError {
  return new HarnessError(
    "cursor_expired",
    `Events after ${cursor} have left the log by age; it cannot be continued from there.`,
    { param },
  );
}

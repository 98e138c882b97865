/**
 * Erase what a session holds: messages, inputs, results, artifacts, names and reasons become descriptors with hashes, in
 * the log, in the documents and in the answers kept for repeated requests. Ids, times, kinds and receipts stay, so the
 * chain still verifies.
 *
 * Invariants
 *   E1  The request is recorded before anything is replaced; a process that dies goes on with it at its next start.
 *   E2  Each commit replaces all events of the resources it touches together with their documents, so that documents are
 *       the fold of the log after every one.
 *   E3  `vendor.bridle.session.erased` is recorded when nothing is left in any file, and not before.
 */

import { setImmediate as othersTurn } from "node:timers/promises";
import { type Caller, systemCaller } from "../../policy/caller.ts";
import type { Position, Rewrite, Store, StoredEvent } from "../../store/port.ts";
import { cancelTasks } from "../commands/cancel-task.ts";
import { type Command, carryOut } from "../dispatch.ts";
import { asKernelEvent, type KernelEvent } from "../events.ts";
import { type AnyRecord, changed, created } from "../fold.ts";
import { readLog } from "../log-tail.ts";
import type { SessionRecord } from "../resources/session.ts";
import type { KernelDeps } from "../unit.ts";
import { dropUnreferenced } from "./blobs.ts";
import { redactContent } from "./redact.ts";

const pageSize = 100;

export interface EraseSession {
  sessionId: string;
  reason?: string | undefined;
}

/** Asks for it, and comes back when it is done. Asked again, it is done already. */
export const eraseSession: Command<EraseSession, SessionRecord> = {
  name: "erase_session",
  scope: "admin",
  async decide(unit, { sessionId, reason = null }) {
    const session = await unit.require("session", sessionId);
    if (session.erasure !== undefined) return session;
    return unit.emit(session, "vendor.bridle.session.erasure_requested", {
      erasure: {
        requested_at: unit.at,
        requested_by: unit.caller.actor,
        reason: reason ?? null,
        erased_at: null,
      },
    });
  },
  async afterwards(deps, _caller, { id, tenant_id }) {
    await finishErasure(deps, tenant_id, id);
  },
};

/** Does what was asked for and is not done yet. Harmless to do twice. */
export async function finishErasure(deps: KernelDeps, tenantId: string, sessionId: string): Promise<void> {
  const system = systemCaller(tenantId);
  const release = await deps.locks.acquire(`erasure:${sessionId}`);
  try {
    const document = await deps.store.get("session", sessionId);
    const session = document?.body as SessionRecord | undefined;
    if (session?.erasure === undefined || session.erasure.erased_at !== null) return;
    await cancelTasks(deps, system, { sessionId }, "The session is erased.");
    await eraseTasks(deps, system, sessionId);
    await eraseRest(deps, system, sessionId);
    await eraseAnswers(deps.store, sessionId);
    const { eventCount, blobs } = await erasedContent(deps.store, sessionId);
    const dropped = await dropUnreferenced(deps.store, blobs);
    await deps.store.scrub();
    await carryOut(deps, recordErased, system, { sessionId, eventCount, blobCount: dropped.count });
  } finally {
    release();
  }
}

const recordErased: Command<{ sessionId: string; eventCount: number; blobCount: number }, SessionRecord> = {
  name: "record_erased",
  scope: "admin",
  async decide(unit, { sessionId, eventCount, blobCount }) {
    const session = await unit.require("session", sessionId);
    return unit.emit(session, "vendor.bridle.session.erased", {
      event_count: eventCount,
      blob_count: blobCount,
    });
  },
};

/** A task with everything that belongs to it is one commit. */
async function eraseTasks(deps: KernelDeps, system: Caller, sessionId: string): Promise<void> {
  let beyond: { born: Position; id: string } | undefined;
  while (true) {
    const tasks = await deps.store.list({
      kind: "task",
      by: { sessionId },
      order: "oldest_first",
      beyond,
      limit: pageSize,
    });
    for (const { id } of tasks) {
      await carryOut(deps, eraseEvents, system, { read: (store) => eventsOfTask(store, id) });
      await othersTurn();
    }
    const last = tasks.at(-1);
    if (last === undefined || tasks.length < pageSize) return;
    beyond = { born: last.born, id: last.id };
  }
}

async function eventsOfTask(store: Store, taskId: string): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const events of readLog(store, { taskId, after: 0 })) found.push(...events);
  return found;
}

/** What belongs to no task: messages, which have one event each, page by page; then the session itself and the few others. */
async function eraseRest(deps: KernelDeps, system: Caller, sessionId: string): Promise<void> {
  const others: StoredEvent[] = [];
  for await (const events of readLog(deps.store, { sessionId, after: 0 })) {
    const loose = events.filter(({ taskId }) => taskId === null);
    const messages = loose.filter(({ resource }) => resource.object === "message");
    others.push(...loose.filter(({ resource }) => resource.object !== "message"));
    if (messages.length > 0) await carryOut(deps, eraseEvents, system, { read: async () => messages });
    await othersTurn();
  }
  await carryOut(deps, eraseEvents, system, { read: async () => others });
}

/** `read` gives all events of every resource that it gives one of. */
const eraseEvents: Command<{ read(store: Store): Promise<StoredEvent[]> }, null> = {
  name: "erase_events",
  scope: "admin",
  async decide(unit, { read }) {
    const events = (await read(unit.deps.store)).filter(({ resource }) => holdsContent(resource.object));
    const erased: StoredEvent[] = [];
    for (const event of events) erased.push(await eraseEvent(event, unit.deps.store));
    const changes = erased.flatMap((event, index): Rewrite[] => {
      const { position, payload, replay } = event;
      return JSON.stringify(event) === JSON.stringify(events[index]) ? [] : [{ position, payload, replay }];
    });
    if (changes.length > 0) await unit.rewrite(changes, refolded(erased));
    return null;
  },
};

/** Receipts hold hashes, are signed, and stay as they are. */
function holdsContent(object: string): boolean {
  return !object.startsWith("receipt");
}

async function eraseEvent(event: StoredEvent, store: Store): Promise<StoredEvent> {
  const redacted = { ...event, payload: await redactContent(event.payload, store) };
  const payload = markErased(asKernelEvent(redacted));
  if (event.replay === undefined) return { ...event, payload };
  return { ...event, payload, replay: await redactContent(event.replay, store) };
}

/** An artifact that came in chunks has its bytes from the last of them; that one says that they are gone. */
function markErased(event: KernelEvent): object {
  if (event.event !== "artifact.updated" || event.payload.completed === null) return event.payload;
  return { ...event.payload, completed: { ...event.payload.completed, is_erased: true } };
}

/** The fold of the events as they will be (E2). */
function refolded(events: readonly StoredEvent[]): AnyRecord[] {
  const records = new Map<string, AnyRecord>();
  for (const event of events.map(asKernelEvent)) {
    for (const record of created(event)) records.set(record.id, record);
    const current = records.get(event.resource.id);
    if (current !== undefined) records.set(current.id, changed(current, event));
  }
  return [...records.values()];
}

/** The answers to repeated requests are records as well. */
async function eraseAnswers(store: Store, sessionId: string): Promise<void> {
  let afterKey = "";
  while (true) {
    const found = await store.onceWith({ text: sessionId, afterKey, limit: pageSize });
    const rewriteOnce = [];
    for (const { key, result } of found) {
      const value: unknown = JSON.parse(result);
      if (typeof value !== "object" || value === null) continue;
      rewriteOnce.push({ key, result: JSON.stringify(await redactContent(value, store)) });
    }
    if (rewriteOnce.length > 0)
      await store.commit({ expect: [], events: [], put: [], blobs: [], rewriteOnce });
    if (found.length < pageSize) return;
    afterKey = found.at(-1)?.key ?? afterKey;
  }
}

/** The hashes of everything that was erased: among them are the names of the blobs that held it. */
async function erasedContent(
  store: Store,
  sessionId: string,
): Promise<{ eventCount: number; blobs: Set<string> }> {
  const blobs = new Set<string>();
  let eventCount = 0;
  for await (const events of readLog(store, { sessionId, after: 0 })) {
    const held = events.filter(({ resource }) => holdsContent(resource.object));
    eventCount += held.length;
    for (const [sha256] of JSON.stringify(held).matchAll(/(?<="sha256":")[0-9a-f]{64}(?=")/g))
      blobs.add(sha256);
    await othersTurn();
  }
  return { eventCount, blobs };
}

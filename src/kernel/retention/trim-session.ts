/**
 * Let old work of a session leave the log: the events and records of tasks that ended, and of messages that belong to no
 * task. Of a task its record stays, without content, and its receipts stay whole; the event that says so carries the
 * record, so that documents are still the fold of the log.
 *
 * Content goes before the events that speak of it: a process that dies in between leaves events to be trimmed the next
 * time, never content that nobody speaks of.
 */

import { systemCaller } from "../../policy/caller.ts";
import type { Position, StoredEvent, TenantStore } from "../../store/port.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { asKernelEvent, eventId, type Trimmed } from "../core/events.ts";
import { created, type Kind } from "../core/fold.ts";
import { readLog } from "../core/log-tail.ts";
import type { Unit, WholeDeps } from "../core/unit.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { blobsOf } from "../sessions/transfer/bundle.ts";
import { isFinal, unfinished } from "../tasks/lifecycle.ts";
import { dropUnreferenced } from "./erasure/blobs.ts";
import { redactContent } from "./erasure/redact.ts";

export interface OldWork {
  tenantId: string;
  sessionId: string;
  taskIds: string[];
  messageIds: string[];
}

export interface TrimCounts {
  tasks: number;
  messages: number;
  events: number;
  blobs: number;
  /** Of the events' own text and of the blobs that go with them. */
  bytes: number;
}

/** Of what leaves the log, the kinds whose records leave with it. */
const goneKinds = [
  "message",
  "artifact",
  "permission_request",
  "approval_nonce",
  "push_config",
  "handoff",
  "shell_link",
] as const satisfies Kind[];
/** Everything else that names a task is not about its work: receipts, branches, quotas. */
const goingKinds: readonly string[] = ["task", ...goneKinds];

export async function trimSession(deps: WholeDeps, asked: OldWork): Promise<TrimCounts> {
  const store = deps.store.of(asked.tenantId);
  const work = { ...asked, taskIds: await notNeeded(store, asked.taskIds) };
  const going = await eventsOf(store, work);
  const positions = new Set(going.map(({ position }) => position));
  const blobs = new Set(going.flatMap(blobsOf));
  const dropped = await dropUnreferenced(deps.store, blobs, positions);
  const system = systemCaller(work.tenantId);
  const { events, tasks, messages, bytes } = await runCommand(deps, trimEvents, system, work);
  return { tasks, messages, events, blobs: dropped.count, bytes: bytes + dropped.bytes };
}

/** What would go, without anything going. Blobs that others speak of too are not told apart from those that would go. */
export async function measureSession(store: TenantStore, asked: OldWork): Promise<TrimCounts> {
  const work = { ...asked, taskIds: await notNeeded(store, asked.taskIds) };
  const events = await eventsOf(store, work);
  const blobs = new Set(events.flatMap(blobsOf));
  let bytes = textBytes(events);
  for (const sha256 of blobs) bytes += (await store.blob(sha256))?.length ?? 0;
  const messages = new Set(
    events.flatMap(({ resource }) => (resource.object === "message" ? [resource.id] : [])),
  );
  return {
    tasks: work.taskIds.length,
    messages: messages.size,
    events: events.length,
    blobs: blobs.size,
    bytes,
  };
}

const trimEvents: Command<OldWork, Omit<TrimCounts, "blobs">> = {
  name: "trim_session",
  scope: "admin",
  decide(unit, work) {
    const session = unit.require("session", work.sessionId);
    const workspace = unit.require("workspace", session.workspace_id);
    const tenant = unit.require("tenant", session.tenant_id);
    const left = tasksLeft(unit, work.taskIds);
    const messageIds = present(unit, work.messageIds);
    const taskIds = left.map(({ id }) => id);
    const going = unit.awaited("events", () => eventsOf(unit.own, { taskIds, messageIds }));
    const last = going.reduce((latest, { position }) => Math.max(latest, position), 0);
    const documents = documentsOf(going);
    const messages = documents.filter(({ kind }) => kind === "message").length;
    const counts = { tasks: left.length, messages, events: going.length, bytes: textBytes(going) };
    if (going.length === 0) return counts;
    const trimmed: Trimmed = { through_event_id: eventId(last), event_count: going.length };
    unit.emit(session, "vendor.bridle.session.trimmed", {
      ...trimmed,
      tasks: unit.awaited("tombstones", () => tombstones(unit.own, unit.at, left, going)),
    });
    unit.emit(workspace, "vendor.bridle.workspace.trimmed", trimmed);
    unit.emit(tenant, "vendor.bridle.log.trimmed", trimmed);
    unit.trim({
      events: going.map(({ position }) => position),
      documents,
      unlisted: left.map(({ id }) => id),
    });
    return counts;
  },
};

/** A replay under way reads the log of its source, and names it as its parent. */
async function notNeeded(store: TenantStore, taskIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const taskId of taskIds) {
    const needing = await store.list({
      kind: "task",
      by: { taskId },
      statuses: unfinished,
      order: "oldest_first",
      limit: 1,
    });
    if (needing.length === 0) found.push(taskId);
  }
  return found;
}

function tasksLeft(unit: Unit, ids: readonly string[]): TaskRecord[] {
  return unit.findAll("task", ids).filter(({ trimmed, status }) => trimmed === undefined && isFinal(status));
}

function present(unit: Unit, messageIds: readonly string[]): string[] {
  return unit.findAll("message", messageIds).map(({ id }) => id);
}

async function eventsOf(
  store: TenantStore,
  { taskIds, messageIds }: Pick<OldWork, "taskIds" | "messageIds">,
): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for (const taskId of taskIds) {
    for await (const events of readLog(store, { taskId, after: 0 })) {
      found.push(...events.filter(({ resource }) => goingKinds.includes(resource.object)));
    }
  }
  for (const id of messageIds) {
    const born = (await store.get("message", id))?.born;
    if (born !== undefined) found.push(...(await store.events({ after: born - 1, through: born, limit: 1 })));
  }
  return found;
}

function documentsOf(events: readonly StoredEvent[]): { kind: Kind; id: string }[] {
  const ids = new Map<string, Kind>();
  for (const event of events) {
    for (const { object, id } of [event.resource, ...created(asKernelEvent(event))]) {
      if (isGone(object)) ids.set(id, object);
    }
  }
  return [...ids].map(([id, kind]) => ({ kind, id }));
}

function isGone(object: string): object is (typeof goneKinds)[number] {
  return (goneKinds as readonly string[]).includes(object);
}

async function tombstones(
  own: TenantStore,
  trimmed_at: string,
  tasks: readonly TaskRecord[],
  going: readonly StoredEvent[],
): Promise<TaskRecord[]> {
  return await Promise.all(
    tasks.map(async (task) => {
      const positions = going.flatMap(({ taskId, position }): Position[] =>
        taskId === task.id ? [position] : [],
      );
      const trimmed = {
        trimmed_at,
        through_event_id: eventId(positions.reduce((latest, position) => Math.max(latest, position), 0)),
        event_count: positions.length,
      };
      return { ...(await redactContent(task, own)), trimmed };
    }),
  );
}

function textBytes(events: readonly StoredEvent[]): number {
  return events.reduce((sum, { payload }) => sum + JSON.stringify(payload).length, 0);
}

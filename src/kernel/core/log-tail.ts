/**
 * Following the log. One tail per process hears of every commit and hands events to those who asked for them by task,
 * session or tenant.
 *
 * A follower reads history from the store, then live events from a small buffer. When it is too slow for the buffer,
 * the buffer is dropped and the follower goes back to reading history: nobody makes the process grow.
 */

import { nextSlice } from "../../slices.ts";
import type { EventQuery, NewEvent, StoredEvent, TenantStore } from "../../store/port.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { readPages } from "./read-pages.ts";

/** Live events kept for one follower. */
const bufferMax = 256;
/** What is read from disk at once: a millisecond of work, unless a single event is larger. */
const historyPage = { limit: 200, bytesMax: 64 * 1024 };

type TopicKind = "task" | "session" | "tenant";
export type Topic = `${TopicKind}:${string}`;
type Listener = (event: StoredEvent) => void;

/** The listeners of each topic, by kind and id: every event asks for three of them. */
class Listeners {
  readonly #byId = new Map<string, Set<Listener>>();

  add(id: string, listener: Listener): () => void {
    const listeners = this.#byId.get(id) ?? new Set();
    listeners.add(listener);
    this.#byId.set(id, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byId.get(id) === listeners) this.#byId.delete(id);
    };
  }

  tell(id: string | null, event: StoredEvent): void {
    const listeners = id === null || this.#byId.size === 0 ? undefined : this.#byId.get(id);
    if (listeners !== undefined) for (const listener of listeners) listener(event);
  }

  clear(): void {
    this.#byId.clear();
  }
}

export class LogTail {
  readonly #topics = { tenant: new Listeners(), session: new Listeners(), task: new Listeners() };
  readonly #all = new Set<(events: readonly StoredEvent[]) => void>();
  readonly #early = new Set<(events: readonly NewEvent[]) => void>();
  readonly #stop: () => void;

  constructor(store: WholeStore) {
    this.#stop = store.follow((events) => this.#deliver(events));
  }

  close(): void {
    this.#stop();
    for (const listeners of Object.values(this.#topics)) listeners.clear();
    this.#all.clear();
    this.#early.clear();
  }

  /** Every event of one topic, as it is committed. */
  on(topic: Topic, listener: Listener): () => void {
    const [kind, id] = partsOf(topic);
    return this.#topics[kind].add(id, listener);
  }

  /** Every event of every tenant: for the parts of the harness itself. */
  onCommit(listener: (events: readonly StoredEvent[]) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  /** Every event when it is handed to the store: it may still fail, and must not be shown to anybody. */
  onProposed(listener: (events: readonly NewEvent[]) => void): () => void {
    this.#early.add(listener);
    return () => this.#early.delete(listener);
  }

  propose(events: readonly NewEvent[]): void {
    for (const listener of this.#early) listener(events);
  }

  #deliver(events: readonly StoredEvent[]): void {
    for (const listener of this.#all) listener(events);
    const { tenant, session, task } = this.#topics;
    for (const event of events) {
      tenant.tell(event.tenantId, event);
      session.tell(event.sessionId, event);
      task.tell(event.taskId, event);
    }
  }
}

function partsOf(topic: Topic): [kind: TopicKind, id: string] {
  const id = topic.slice(topic.indexOf(":") + 1);
  if (topic.startsWith("task:")) return ["task", id];
  return [topic.startsWith("session:") ? "session" : "tenant", id];
}

export type LogFilter = Omit<EventQuery, "limit" | "bytesMax" | "through" | "newestFirst">;

/** What there is to read now, in log order, and nothing that comes later. */
export function readLog(
  store: Pick<TenantStore, "events">,
  filter: LogFilter,
): AsyncGenerator<StoredEvent[]> {
  return readPages((last) =>
    store.events({ ...filter, after: last?.position ?? filter.after, ...historyPage }),
  );
}

/** Yields batches of events after `filter.after`, in log order, each exactly once, until aborted. */
export async function* followLog(
  store: TenantStore,
  tail: LogTail,
  filter: LogFilter,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent[]> {
  let cursor = filter.after;
  let buffer: StoredEvent[] = [];
  let overflowed = false;
  let wake: () => void = () => {};
  // Listening starts before the first read: whatever that read cannot see yet will come live.
  const unsubscribe = tail.on(topicOf(store, filter), (event) => {
    if (event.tenantId !== store.tenantId || !matches(filter, event)) return;
    if (buffer.length < bufferMax) buffer.push(event);
    else overflowed = true;
    wake();
  });
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  try {
    let readHistory = true;
    while (!signal.aborted) {
      if (readHistory || overflowed) {
        if (overflowed) {
          buffer = [];
          overflowed = false;
        }
        await nextSlice();
        const page = await store.events({ ...filter, after: cursor, ...historyPage });
        cursor = page.at(-1)?.position ?? cursor;
        readHistory = page.length > 0;
        if (page.length > 0) yield page;
        continue;
      }
      const seen = cursor;
      const live = buffer.filter((event) => event.position > seen);
      buffer = [];
      if (live.length > 0) {
        cursor = live.at(-1)?.position ?? cursor;
        yield live;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal.aborted || buffer.length > 0 || overflowed) resolve();
      });
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", onAbort);
  }
}

function topicOf({ tenantId }: TenantStore, filter: LogFilter): Topic {
  if (filter.taskId !== undefined) return `task:${filter.taskId}`;
  if (filter.sessionId !== undefined) return `session:${filter.sessionId}`;
  return `tenant:${tenantId}`;
}

function matches(filter: LogFilter, event: StoredEvent): boolean {
  if (filter.sessionId !== undefined && event.sessionId !== filter.sessionId) return false;
  if (filter.taskId !== undefined && event.taskId !== filter.taskId) return false;
  if (filter.workspaceIds === undefined) return true;
  return event.workspaceId !== null && filter.workspaceIds.includes(event.workspaceId);
}

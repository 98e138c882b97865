/** The list as far as it was scrolled, kept up to date by the server's event stream. */

import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import type { BridleEvent, Page, Task } from "bridle/client";
import { useEffect, useMemo } from "react";
import { bridle } from "../../server/bridle.ts";
import { watchConnection } from "../../server/connection.ts";
import { may, useSession } from "../../server/session.ts";
import { type RunFilters, requestFor } from "./filters.ts";

const pageSize = 50;
/** What changed is read together: a busy server changes more than anybody can see. */
const gatherMs = 400;
/** More changes than this at once, and only the first page is read again. */
const changedMax = 20;
const pollMs = 5000;

type Pages = InfiniteData<Page<Task>, string | undefined>;

export function useRuns(filters: RunFilters) {
  const client = useQueryClient();
  const { session } = useSession();
  const isLive = may(session, "events:read");
  const key = useMemo(() => ["runs", filters] as const, [filters]);
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      bridle.tasks.list({
        ...requestFor(filters, Date.now()),
        limit: pageSize,
        signal,
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    ...(isLive ? {} : { refetchInterval: pollMs }),
    // Scrolled far, reading all of it again would be slow; the stream tells what changed.
    refetchOnWindowFocus: !isLive,
    staleTime: isLive ? Number.POSITIVE_INFINITY : 0,
    gcTime: 60_000,
  });

  const isThere = query.data !== undefined;
  useEffect(() => {
    if (!isLive || !isThere) return;
    const update = (pages: (old: Pages) => Pages) =>
      client.setQueryData<Pages>(key, (old) => (old === undefined ? old : pages(old)));
    const loaded = () => client.getQueryData<Pages>(key)?.pages.flatMap(({ items }) => items) ?? [];
    return followChanges(async (changed) => {
      const known = new Set(loaded().map(({ id }) => id));
      const shown = [...changed].filter((id) => known.has(id));
      const fresh =
        shown.length > changedMax
          ? []
          : await Promise.all(shown.map((id) => bridle.tasks.get(id).catch(() => null)));
      const byId = new Map(fresh.flatMap((task) => (task === null ? [] : [[task.id, task] as const])));
      const hasNew = shown.length < changed.size || shown.length > changedMax;
      const first = hasNew
        ? await bridle.tasks.list({ ...requestFor(filters, Date.now()), limit: pageSize })
        : null;
      update((old) => merged(old, byId, first?.items ?? [], filters));
    });
  }, [client, filters, key, isLive, isThere]);

  const runs = useMemo(() => query.data?.pages.flatMap(({ items }) => items) ?? [], [query.data]);
  return { ...query, runs, isLive };
}

/** Calls back with the tasks that changed, from now on. Returns the way to stop it. */
function followChanges(onChanged: (ids: ReadonlySet<string>) => Promise<void>): () => void {
  const gone = new AbortController();
  const connection = watchConnection();
  let changed = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | null = null;
  const tell = async () => {
    const told = changed;
    changed = new Set();
    await onChanged(told).catch(() => {
      // The next change reads it again; a lost connection has a banner.
    });
    timer = changed.size === 0 ? null : setTimeout(tell, gatherMs);
  };
  const note = ({ event, task_id: id }: BridleEvent) => {
    if (id === null || !event.startsWith("task.")) return;
    changed.add(id);
    timer ??= setTimeout(tell, gatherMs);
  };
  const read = async () => {
    const { signal } = gone;
    const after = await newestEvent(signal);
    for await (const event of bridle.events({ after, signal, onConnection: connection.onConnection }))
      note(event);
  };
  read().catch(() => {
    // Aborted, signed out, or refused: the list stays as it is.
  });
  return () => {
    gone.abort();
    connection.close();
    if (timer !== null) clearTimeout(timer);
  };
}

/** About where the log ends: the last event of the session in which a task changed last. */
async function newestEvent(signal: AbortSignal): Promise<string | undefined> {
  const { items } = await bridle.tasks.list({ since: new Date(0), limit: 1, signal });
  const [task] = items;
  if (task === undefined) return undefined;
  const session = await bridle.sessions.get(task.session_id, { signal });
  return session.last_event_id ?? undefined;
}

/** Changed rows stay where they are; new ones come on top; what no longer matches leaves. */
function merged(
  old: Pages,
  changed: ReadonlyMap<string, Task>,
  first: readonly Task[],
  { status }: RunFilters,
): Pages {
  const known = new Set(old.pages.flatMap(({ items }) => items.map(({ id }) => id)));
  const added = first.filter(({ id }) => !known.has(id));
  const current = new Map([...first.map((task) => [task.id, task] as const), ...changed]);
  const pages = old.pages.map((page, n) => {
    const items = page.items.map((task) => current.get(task.id) ?? task);
    const matching = status === undefined ? items : items.filter((task) => task.status === status);
    return { ...page, items: n === 0 ? [...added, ...matching] : matching };
  });
  return { ...old, pages };
}

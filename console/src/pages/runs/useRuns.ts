/** The list as far as it was scrolled, kept up to date by the server's event stream. */

import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import type { BridleEvent, Page } from "bridle/client";
import { useEffect, useMemo } from "react";
import { bridle } from "../../server/bridle.ts";
import { followChanges, mayFollow, pollMs } from "../../server/changes.ts";
import { useSession } from "../../server/session.ts";
import { type RunFilters, requestFor } from "./filters.ts";
import { type RunRow, rowOf } from "./row.ts";

const pageSize = 50;
const laterPageSize = 200;
/** More changes than this at once, and only the first page is read again. */
const changedMax = 20;

type Pages = InfiniteData<Page<RunRow>, string | undefined>;

export function useRuns(filters: RunFilters) {
  const client = useQueryClient();
  const { session } = useSession();
  const isLive = mayFollow(session);
  const key = useMemo(() => ["runs", filters] as const, [filters]);
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: async ({ pageParam, signal }) => {
      const { items, nextCursor } = await bridle.tasks.list({
        ...requestFor(filters, Date.now()),
        // The first page is there soon; who scrolls on needs more.
        limit: pageParam === undefined ? pageSize : laterPageSize,
        signal,
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      });
      return { items: items.map(rowOf), nextCursor };
    },
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
    const idOf = ({ event, task_id }: BridleEvent) => (event.startsWith("task.") ? task_id : null);
    const onChanged = async (changed: ReadonlySet<string>) => {
      const known = new Set(loaded().map(({ id }) => id));
      const shown = [...changed].filter((id) => known.has(id));
      const fresh =
        shown.length > changedMax
          ? []
          : await Promise.all(shown.map((id) => bridle.tasks.get(id).catch(() => null)));
      const byId = new Map(fresh.flatMap((task) => (task === null ? [] : [[task.id, rowOf(task)] as const])));
      const hasNew = shown.length < changed.size || shown.length > changedMax;
      const first = hasNew
        ? await bridle.tasks.list({ ...requestFor(filters, Date.now()), limit: pageSize })
        : null;
      update((old) => merged(old, byId, first?.items.map(rowOf) ?? [], filters));
    };
    return followChanges({ idOf, onChanged });
  }, [client, filters, key, isLive, isThere]);

  const runs = useMemo(() => query.data?.pages.flatMap(({ items }) => items) ?? [], [query.data]);
  return { ...query, runs, isLive };
}

/** Changed rows stay where they are; new ones come on top; what no longer matches leaves. */
function merged(
  old: Pages,
  changed: ReadonlyMap<string, RunRow>,
  first: readonly RunRow[],
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

/** All runs, newest first, as they change. */

import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { isFinal } from "../../parts/Status.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/runs.css";
import { text } from "../../text.ts";
import { CancelRuns } from "./CancelRuns.tsx";
import { Filters } from "./Filters.tsx";
import { isFiltered } from "./filters.ts";
import { RunTable } from "./RunTable.tsx";
import { Start } from "./Start.tsx";
import { useRuns } from "./useRuns.ts";

const route = getRouteApi("/inside/runs");

export function Runs() {
  useTitle(text.runs.title);
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const { session } = useSession();
  const query = useRuns(filters);
  const { runs, error, isPending, hasNextPage, isFetchingNextPage } = query;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isAsking, setAsking] = useState(false);
  const chosen = runs.filter(({ id, status }) => selected.has(id) && !isFinal(status));
  return (
    <main className="page page--wide page--fill">
      <div className="page__head">
        <h1>{text.runs.title}</h1>
        <p className={query.isLive ? "live" : "live live--off"}>
          <span className="live__dot" aria-hidden="true" />
          {query.isLive ? text.runs.live : text.runs.notLive}
        </p>
      </div>
      <Filters filters={filters} onChange={(next) => void navigate({ search: next, replace: true })} />
      {error !== null && <ErrorNote error={error} onRetry={() => void query.refetch()} />}
      {isPending && error === null && <p className="quiet">{text.loading}</p>}
      {query.isSuccess && runs.length === 0 && <NoRuns isFiltered={isFiltered(filters)} />}
      {runs.length > 0 && (
        <RunTable
          runs={runs}
          selected={selected}
          onSelect={may(session, "tasks:write") ? setSelected : null}
          hasMore={hasNextPage}
          isLoadingMore={isFetchingNextPage}
          onEnd={() => void query.fetchNextPage()}
        />
      )}
      {chosen.length > 0 && (
        <div className="selection" role="region" aria-label={text.runs.selected(chosen.length)}>
          <span>{text.runs.selected(chosen.length)}</span>
          <button type="button" className="button" onClick={() => setSelected(new Set())}>
            {text.close}
          </button>
          <button type="button" className="button button--danger" onClick={() => setAsking(true)}>
            {text.runs.cancelSelected(chosen.length)}
          </button>
        </div>
      )}
      {isAsking && (
        <CancelRuns
          ids={chosen.map(({ id }) => id)}
          onClose={() => {
            setAsking(false);
            setSelected(new Set());
          }}
        />
      )}
    </main>
  );
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title={text.runs.noMatch}>
        <p>{text.runs.noMatchHelp}</p>
      </Empty>
    );
  }
  return <Start />;
}

/** Who administered what, newest first; the chain of hashes can be checked. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { AuditRecord, AuditVerification } from "bridle/client";
import { type FormEvent, useId, useState } from "react";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Json } from "../../parts/Json.tsx";
import { printable } from "../../parts/LongText.tsx";
import { Time } from "../../parts/Time.tsx";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";
import { type AuditFilters, readAuditFilters } from "./audit-filters.ts";

const words = text.operate.audit;
const pageSize = 50;
const route = getRouteApi("/inside/operate/$part");

export default function Audit() {
  const filters = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    queryKey: ["audit", filters],
    queryFn: ({ pageParam, signal }) =>
      bridle.audit.list({
        ...filters,
        limit: pageSize,
        signal,
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  });
  const records = data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <>
      <h1>{text.operate.parts.audit}</h1>
      <p className="quiet">{words.intro}</p>
      <Filters
        key={`${filters.action} ${filters.actor}`}
        filters={filters}
        onChange={(search) => void navigate({ search })}
      />
      <Verify />
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined && records.length === 0 && !hasNextPage && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
        </Empty>
      )}
      <ol className="cards cards--dense">
        {records.map((record) => (
          <Item key={record.index} record={record} />
        ))}
      </ol>
      {hasNextPage && (
        <button type="button" className="button" disabled={isFetching} onClick={() => void fetchNextPage()}>
          {words.more}
        </button>
      )}
    </>
  );
}

function Item({ record }: { record: AuditRecord }) {
  const [isOpen, setOpen] = useState(false);
  const { action, actor, outcome, resource, created_at, index } = record;
  return (
    <li className="card">
      <button type="button" className="audit__row" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <code>{printable(action)}</code>
        <span className="clip">
          {printable(actor ?? words.nobody)}
          {resource !== null && <span className="quiet"> {printable(resource.id)}</span>}
        </span>
        {outcome === "failure" && <span className="tag tag--bad">{words.failure}</span>}
        <span className="quiet">
          <Time at={created_at} /> · {index.toLocaleString("en")}
        </span>
      </button>
      {isOpen && <Json value={record} open={3} />}
    </li>
  );
}

function Filters({ filters, onChange }: { filters: AuditFilters; onChange(filters: AuditFilters): void }) {
  const ids = { action: useId(), actor: useId() };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onChange(readAuditFilters(Object.fromEntries(new FormData(event.currentTarget))));
  };
  return (
    <form className="audit__filters" onSubmit={submit}>
      <div className="field">
        <label htmlFor={ids.action}>{words.action}</label>
        <input
          id={ids.action}
          name="action"
          className="mono"
          placeholder="api_key.create"
          defaultValue={filters.action ?? ""}
          autoComplete="off"
          spellCheck={false}
        />
      </div>
      <div className="field">
        <label htmlFor={ids.actor}>{words.actor}</label>
        <input id={ids.actor} name="actor" defaultValue={filters.actor ?? ""} autoComplete="off" />
      </div>
      <button type="submit" className="button">
        {words.filter}
      </button>
    </form>
  );
}

function Verify() {
  const [found, setFound] = useState<AuditVerification | null>(null);
  const [error, setError] = useState<unknown>(null);
  const verify = () => {
    setError(null);
    bridle.audit.verify().then(setFound, setError);
  };
  return (
    <div className="audit__verify">
      <button type="button" className="button" onClick={verify}>
        {words.verify}
      </button>
      <p role="status">
        {found !== null &&
          (found.valid
            ? words.valid(found.size ?? 0)
            : words.invalid(found.index ?? 0, found.reason ?? text.none))}
      </p>
      {error !== null && <ErrorNote error={error} />}
    </div>
  );
}

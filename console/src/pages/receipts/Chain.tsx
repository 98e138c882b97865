/** The chain of a workspace's receipts as a picture that is walked, receipt by receipt, each verified in this browser. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { verifyInclusion, verifyReceipt } from "bridle/verify";
import { type KeyboardEvent, useEffect, useId, useMemo, useRef } from "react";
import { Checks } from "../../parts/Checks.tsx";
import { Id } from "../../parts/Copy.tsx";
import { Empty } from "../../parts/Empty.tsx";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Icon } from "../../parts/Icon.tsx";
import { Json } from "../../parts/Json.tsx";
import { Time } from "../../parts/Time.tsx";
import { useTitle } from "../../parts/useTitle.ts";
import { bridle } from "../../server/bridle.ts";
import { may, useSession } from "../../server/session.ts";
import "../../styles/run.css";
import "../../styles/chain.css";
import { text } from "../../text.ts";
import { type ChainLink, linksOf, short } from "./chain.ts";

const words = text.receipts.walk;
const pageSize = 50;
const route = getRouteApi("/inside/receipts/chain");

export function Chain() {
  useTitle(words.title);
  const { workspace, receipt: chosen } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["chain", workspace],
    queryFn: ({ pageParam, signal }) =>
      bridle.receipts.list({
        ...(workspace === undefined ? {} : { workspaceId: workspace }),
        limit: pageSize,
        signal,
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  });
  const links = useMemo(
    () => linksOf(data?.pages.flatMap(({ items }) => items) ?? [], workspace),
    [data, workspace],
  );
  const at = Math.max(
    0,
    links.findIndex(({ receipt }) => receipt.receipt_id === chosen),
  );
  const current = links[at];
  const choose = (n: number) => {
    const id = links[n]?.receipt.receipt_id;
    if (id === undefined) return;
    void navigate({ search: (before) => ({ ...before, receipt: id }), replace: true });
    if (n >= links.length - 5 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  };
  return (
    <main className="page page--wide chain">
      <Link to="/receipts" className="back">
        <Icon name="back" />
        {text.receipts.title}
      </Link>
      <div className="page__head">
        <h1>{words.title}</h1>
        <Workspaces
          value={workspace}
          onChange={(id) => void navigate({ search: id === "" ? {} : { workspace: id } })}
        />
      </div>
      <p className="quiet">{words.intro}</p>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data !== undefined && links.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneHelp}</p>
        </Empty>
      )}
      {current !== undefined && (
        <>
          <Strip
            links={links}
            at={at}
            onChoose={choose}
            onOlder={hasNextPage ? () => void fetchNextPage() : null}
          />
          <Verified key={current.receipt.receipt_id} current={current} />
        </>
      )}
    </main>
  );
}

interface StripProps {
  links: readonly ChainLink[];
  at: number;
  onChoose(n: number): void;
  onOlder: (() => void) | null;
}

/** Newest on the left. Left and right go from one to the next. */
function Strip({ links, at, onChoose, onOlder }: StripProps) {
  const strip = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const block = strip.current?.children[at];
    block?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (strip.current?.contains(document.activeElement)) block?.querySelector("button")?.focus();
  }, [at]);
  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || links[at + by] === undefined) return;
    event.preventDefault();
    onChoose(at + by);
  };
  return (
    <ol className="chain__strip" ref={strip} onKeyDown={step} aria-label={words.title}>
      {links.map(({ receipt, hash, link }, n) => (
        <li key={receipt.receipt_id} className="chain__item">
          <button
            type="button"
            className={`chain__block chain__block--${receipt.lifecycle.final_state.toLowerCase()}`}
            aria-current={n === at}
            tabIndex={n === at ? 0 : -1}
            onClick={() => onChoose(n)}
          >
            <span className="chain__what">{words.subjects[receipt.subject.object]}</span>
            <code>{short(hash)}</code>
            <Time at={receipt.issued_at} />
          </button>
          <span className={`chain__link chain__link--${link}`} title={words.links[link]}>
            <span className="hidden">{words.links[link]}</span>
          </span>
        </li>
      ))}
      {onOlder !== null && (
        <li className="chain__item">
          <button type="button" className="button" onClick={onOlder}>
            {words.older}
          </button>
        </li>
      )}
    </ol>
  );
}

function Verified({ current: { receipt, previous, link } }: { current: ChainLink }) {
  const { receipt_id: id, identifiers } = receipt;
  const { data, error } = useQuery({
    queryKey: ["chain-link", id, link],
    queryFn: async ({ signal }) => {
      // Only where the receipt before it is known, by its own hash, is the link to it proved.
      const chain =
        link === "linked" || link === "first" ? { previousHash: previous, merkleRoot: null } : null;
      const keys = await bridle.receipts.keys({ signal });
      const inclusion = await bridle.receipts.inclusion(id, { signal }).catch(() => null);
      return {
        verification: await verifyReceipt(receipt, chain === null ? { keys } : { keys, chain }),
        inclusion,
        isIncluded: inclusion !== null && (await verifyInclusion(inclusion)),
      };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className="receipt" aria-label={words.receipt}>
      <p className="chain__id">
        <Id value={id} />
        <Link to="/runs/$taskId" params={{ taskId: identifiers.task_id }} search={{}}>
          {words.openRun}
        </Link>
      </p>
      {error !== null && <ErrorNote error={error} />}
      {data === undefined && error === null && <p className="quiet">{text.loading}</p>}
      {data !== undefined && (
        <>
          <p className={`verdict verdict--${data.verification.valid ? "approved" : "denied"}`} role="status">
            {data.verification.valid ? text.receipts.valid : text.receipts.notValid}
          </p>
          <Checks checks={data.verification.checks} />
          <h2>{words.tree}</h2>
          {data.inclusion === null ? (
            <p className="quiet">{words.noTree}</p>
          ) : (
            <>
              <p className={`verdict verdict--${data.isIncluded ? "approved" : "denied"}`}>
                {words.leaf(data.inclusion.leafIndex + 1, data.inclusion.treeSize, data.isIncluded)}
              </p>
              <ol className="chain__path" aria-label={words.path}>
                {[receipt.chain.receipt_hash, ...data.inclusion.path, data.inclusion.root].map(
                  (hash, n, all) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: a path has its order
                    <li key={n}>
                      <span className="quiet">
                        {n === 0 ? words.leafName : n === all.length - 1 ? words.root : words.sibling}
                      </span>
                      <code title={hash}>{short(hash)}</code>
                    </li>
                  ),
                )}
              </ol>
            </>
          )}
        </>
      )}
      <h2>{text.run.json}</h2>
      <Json value={receipt} open={1} />
    </section>
  );
}

function Workspaces({ value = "", onChange }: { value: string | undefined; onChange(id: string): void }) {
  const { session } = useSession();
  const id = useId();
  const { data } = useQuery({
    queryKey: ["workspaces"],
    enabled: may(session, "workspaces:read"),
    queryFn: ({ signal }) => bridle.workspaces.list({ limit: 200, signal }),
  });
  if (data === undefined || data.items.length < 2) return null;
  return (
    <div className="field">
      <label htmlFor={id}>{words.workspace}</label>
      <select id={id} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">{words.newestWorkspace}</option>
        {data.items.map((workspace) => (
          <option key={workspace.id}>{workspace.id}</option>
        ))}
      </select>
    </div>
  );
}

/** Only the rows that are seen are in the document, however many there are. */

import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useRef } from "react";
import { isFinal, Status } from "../../parts/Status.tsx";
import { Time, Took } from "../../parts/Time.tsx";
import { useMedia } from "../../parts/useMedia.ts";
import { text } from "../../text.ts";
import type { RunRow } from "./row.ts";

const rowPx = 44;
const narrowRowPx = 92;
const narrow = "(max-width: 52rem)";

interface RunTableProps {
  runs: readonly RunRow[];
  selected: ReadonlySet<string>;
  /** Null when nothing can be done with a selection. */
  onSelect: ((selected: ReadonlySet<string>) => void) | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  onEnd(): void;
}

export function RunTable({ runs, selected, onSelect, hasMore, isLoadingMore, onEnd }: RunTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const height = useMedia(narrow) ? narrowRowPx : rowPx;
  const rows = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    getItemKey: (n) => runs[n]?.id ?? n,
    overscan: 8,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was measured before is measured again
  useEffect(() => rows.measure(), [height]);
  const items = rows.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= runs.length - 15) onEnd();
  }, [hasMore, isLoadingMore, last, runs.length, onEnd]);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    onSelect?.(next);
  };
  const { columns } = text.runs;
  return (
    <>
      <div className="runs" ref={scroller} data-selects={onSelect !== null}>
        <div role="table" aria-label={text.runs.title} aria-rowcount={runs.length + 1}>
          <div role="rowgroup" className="runs__head">
            <div role="row" aria-rowindex={1} className="runs__row">
              {[columns.status, columns.run, columns.agent, columns.waits, columns.started, columns.took].map(
                (name) => (
                  <span role="columnheader" key={name}>
                    {name}
                  </span>
                ),
              )}
            </div>
          </div>
          <div role="rowgroup" className="runs__body" style={{ height: rows.getTotalSize() }}>
            {items.map(({ index, start, key }) => {
              const run = runs[index];
              return run === undefined ? null : (
                <Row
                  key={key}
                  {...{ run, index, start, height }}
                  isSelected={selected.has(run.id)}
                  onToggle={onSelect === null ? null : toggle}
                />
              );
            })}
          </div>
        </div>
      </div>
      <p className="quiet" role="status">
        {isLoadingMore ? text.runs.loadingMore : text.runs.shown(runs.length, hasMore)}
      </p>
    </>
  );
}

interface RowProps {
  run: RunRow;
  index: number;
  start: number;
  height: number;
  isSelected: boolean;
  onToggle: ((id: string) => void) | null;
}

const Row = memo(
  function Row({ run, index, start, height, isSelected, onToggle }: RowProps) {
    const { id, status, words, agent, persona, waitsFor, createdAt, startedAt, endedAt } = run;
    return (
      <div
        role="row"
        aria-rowindex={index + 2}
        className={isSelected ? "runs__row runs__row--selected" : "runs__row"}
        style={{ height, transform: `translateY(${start}px)` }}
      >
        <span role="cell" className="runs__status">
          {onToggle !== null && (
            <input
              type="checkbox"
              checked={isSelected}
              disabled={isFinal(status)}
              aria-label={text.runs.select(words.slice(0, 60))}
              onChange={() => onToggle(id)}
            />
          )}
          <Status status={status} />
        </span>
        <span role="cell" className="runs__run">
          <Link to="/runs/$taskId" params={{ taskId: id }} search={{}} className="runs__link">
            <bdi>{words}</bdi>
          </Link>
        </span>
        <span role="cell" className="runs__agent">
          {agent}
          {persona !== null && <span className="quiet"> {persona}</span>}
        </span>
        <span role="cell" className="runs__waits">
          {waitsFor !== null && <bdi title={waitsFor}>{waitsFor}</bdi>}
        </span>
        <span role="cell" className="runs__started">
          <Time at={createdAt} />
        </span>
        <span role="cell" className="runs__took">
          {startedAt === null ? text.none : <Took from={startedAt} to={endedAt} />}
        </span>
      </div>
    );
  },
  (before, after) =>
    before.run === after.run &&
    before.start === after.start &&
    before.height === after.height &&
    before.isSelected === after.isSelected,
);

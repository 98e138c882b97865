/** A replay beside the run that it repeats: where they part, and what each cost. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Task } from "bridle/client";
import { useId, useMemo, useRef, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { Json } from "../../parts/Json.tsx";
import { printable } from "../../parts/LongText.tsx";
import { isFinal } from "../../parts/Status.tsx";
import { Took } from "../../parts/Time.tsx";
import { bridle } from "../../server/bridle.ts";
import "../../styles/replay.css";
import { text } from "../../text.ts";
import { endOf } from "../run/ended.ts";
import type { RunView } from "../run/log.ts";
import { useRunView, useTask } from "../run/useRun.ts";
import { type ComparedStep, compareOutputs, firstDifference } from "./compare.ts";

interface ComparisonProps {
  task: Task;
  view: RunView;
  sourceId: string;
}

export default function Comparison({ task, view, sourceId }: ComparisonProps) {
  const { view: source, error } = useRunView(sourceId);
  const { data: sourceTask } = useTask(sourceId, true);
  const [isOnlyDifferent, setOnlyDifferent] = useState(false);
  const [checkId, list] = [useId(), useRef<HTMLOListElement>(null)];
  const rows = useMemo(() => compareOutputs(source.outputs, view.outputs), [source, view]);
  const isOver = isFinal(task.status);
  const first = firstDifference(rows, isOver);
  const different = rows.filter(({ isSame }) => !isSame).length;
  return (
    <div className="comparison">
      {error !== null && <ErrorNote error={error} />}
      <div className="comparison__head">
        <p role="status" className="comparison__verdict">
          {first === -1
            ? isOver
              ? text.replay.same
              : text.replay.sameSoFar
            : text.replay.differ(different, rows.length)}
        </p>
        {first !== -1 && (
          <button
            type="button"
            className="button"
            onClick={() => {
              const row = list.current?.querySelector<HTMLElement>("[data-first]");
              row?.scrollIntoView({ block: "center" });
              row?.focus();
            }}
          >
            {text.replay.toFirst}
          </button>
        )}
        <span className="field field--check">
          <label htmlFor={checkId}>{text.replay.onlyDifferent}</label>
          <input
            id={checkId}
            type="checkbox"
            checked={isOnlyDifferent}
            onChange={() => setOnlyDifferent(!isOnlyDifferent)}
          />
        </span>
      </div>
      {sourceTask !== undefined && <Totals source={sourceTask} replay={task} views={[source, view]} />}
      <ol className="comparison__rows" ref={list} aria-label={text.run.tabs.comparison}>
        {rows.map((row, n) =>
          isOnlyDifferent && row.isSame ? null : (
            <Row key={row.key} row={row} isFirst={n === first} isOver={isOver} />
          ),
        )}
      </ol>
    </div>
  );
}

function Row({ row, isFirst, isOver }: { row: ComparedStep; isFirst: boolean; isOver: boolean }) {
  const { key, source, replay, isSame } = row;
  const isPending = !isOver && replay === undefined;
  const look = isSame ? "same" : isPending ? "pending" : "different";
  return (
    <li
      className={`comparison__row comparison__row--${look}`}
      tabIndex={-1}
      {...(isFirst ? { "data-first": "" } : {})}
    >
      <p className="comparison__key">
        <code>{printable(key)}</code>
        {isFirst && <strong className="comparison__first">{text.replay.first}</strong>}
        {!isFirst && (
          <span className="quiet">{isSame ? text.replay.equal : isPending ? "" : text.replay.different}</span>
        )}
      </p>
      {isSame ? (
        <div className="comparison__value">
          <Json value={source} open={0} />
        </div>
      ) : (
        <div className="comparison__sides">
          <Side label={text.replay.source} value={source} missing={text.replay.missing} />
          <Side
            label={text.replay.replay}
            value={replay}
            missing={isOver ? text.replay.missing : text.replay.notYet}
          />
        </div>
      )}
    </li>
  );
}

function Side({ label, value, missing }: { label: string; value: unknown; missing: string }) {
  return (
    <div className="comparison__side">
      <p className="quiet">{label}</p>
      {value === undefined ? <em className="quiet">{missing}</em> : <Json value={value} open={3} />}
    </div>
  );
}

interface TotalsProps {
  source: Task;
  replay: Task;
  views: readonly [RunView, RunView];
}

function Totals({ source, replay, views: [before, after] }: TotalsProps) {
  const [left, right] = [useCost(source), useCost(replay)];
  const rows: [string, React.ReactNode, React.ReactNode][] = [
    [text.replay.ended, text.status[source.status], text.status[replay.status]],
    [text.replay.took, <TookOf key="l" task={source} />, <TookOf key="r" task={replay} />],
    [text.replay.stepCount, before.usage.steps, after.usage.steps],
    [text.replay.tokens, left?.tokens ?? text.none, right?.tokens ?? text.none],
    [text.replay.cost, left?.cost ?? text.none, right?.cost ?? text.none],
  ];
  return (
    <div className="scroll-x">
      <table className="totals">
        <thead>
          <tr>
            <th>{text.replay.totals}</th>
            <th>
              <Link to="/runs/$taskId" params={{ taskId: source.id }} search={{}} title={source.id}>
                {text.replay.source}
              </Link>
            </th>
            <th>{text.replay.replay}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, was, is]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{was}</td>
              <td>{is}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TookOf({ task }: { task: Task }) {
  return task.started_at === null ? text.none : <Took from={task.started_at} to={endOf(task)} />;
}

/** As the receipts say, which is what was really spent: a replay repeats answers that were paid for before. */
function useCost({ receipt_id: id }: Task): { cost: string; tokens: string } | null {
  const { data } = useQuery({
    queryKey: ["receipt-cost", id],
    enabled: id !== null,
    queryFn: async ({ signal }) => {
      const { cost, autonomy_budget } = await bridle.receipts.get(id ?? "", { signal });
      const { input_tokens = 0, output_tokens = 0 } = autonomy_budget.consumed;
      return {
        cost: `${cost.total} ${cost.currency}`,
        tokens: text.run.tokens(Number(input_tokens), Number(output_tokens)),
      };
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data ?? null;
}

/** How the server is: whether it takes work, what it has to do, how fast it answers, and the room that is left. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { ErrorNote } from "../../parts/ErrorNote.tsx";
import { duration } from "../../parts/Time.tsx";
import { sessionFetch, useSession } from "../../server/session.ts";
import { text } from "../../text.ts";
import { protocolVersion } from "../run/copies.ts";
import { size } from "../run/words.ts";
import { Chart, type Line } from "./Chart.tsx";
import {
  type Buckets,
  bucketsOf,
  bucketsSince,
  quantileOf,
  readMetrics,
  type Sample,
  sumOf,
} from "./prometheus.ts";

const lookMs = 5000;
/** Half an hour. */
const looksMax = 360;
const routesShown = 12;
const words = text.operate.overview;
const seconds = (value: number) => duration(value * 1000);
const whole = (value: number) => Math.round(value).toLocaleString("en");

interface Look {
  running: number;
  queued: number;
  answers: Buckets;
  commits: Buckets;
  requests: number;
}

export default function Overview() {
  const { session } = useSession();
  const ready = useQuery({ queryKey: ["ready"], queryFn: readReady, refetchInterval: lookMs });
  const runtime = useQuery({ queryKey: ["runtime"], queryFn: readRuntime, refetchInterval: 6 * lookMs });
  // Not the scope alone: a key of another tenant, or one that is bound, does not get them either.
  const metrics = useQuery({
    queryKey: ["metrics"],
    queryFn: readMetricsPage,
    refetchInterval: ({ state: { data } }) => (data === null ? false : lookMs),
  });
  const samples = metrics.data ?? null;
  const looks = useLooks(samples);
  const facts = [
    [
      words.state,
      ready.data === undefined ? text.none : (words.states[ready.data.status] ?? ready.data.status),
    ],
    [words.version, session?.version ?? text.none],
    [words.tasks, runtime.data === undefined ? text.none : whole(runtime.data.task_count)],
    [words.sessions, runtime.data === undefined ? text.none : whole(runtime.data.session_count)],
    ...(samples === null ? [] : measured(samples)),
  ];
  return (
    <>
      <h1>{text.operate.parts.overview}</h1>
      {ready.error !== null && <ErrorNote error={ready.error} />}
      {ready.data?.reason !== undefined && <p className="note note--error">{ready.data.reason}</p>}
      <dl className="tiles">
        {facts.map(([name, value]) => (
          <div key={name} className="tile">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {metrics.data === null && <p className="note">{words.noMetrics}</p>}
      {samples !== null && (
        <>
          <div className="charts">
            <Chart
              title={words.work}
              show={whole}
              lines={[
                { name: words.running, values: looks.map(({ running }) => running) },
                { name: words.queued, values: looks.map(({ queued }) => queued) },
              ]}
            />
            <Chart title={words.answers} show={seconds} lines={quantiles(looks, "answers")} />
            <Chart title={words.commits} show={seconds} lines={quantiles(looks, "commits")} />
            <Chart
              title={words.requests}
              show={(value) => value.toFixed(1)}
              lines={[{ name: words.perSecond, values: between(looks, (a, b) => perSecond(a, b)) }]}
            />
          </div>
          <p className="quiet">{words.chartsHelp}</p>
          <Routes samples={samples} />
        </>
      )}
    </>
  );
}

function measured(samples: readonly Sample[]): [string, string][] {
  return [
    [words.running, `${sumOf(samples, "bridle_runs_active")} / ${sumOf(samples, "bridle_runs_max")}`],
    [words.queued, whole(sumOf(samples, "bridle_tasks_ready"))],
    [words.events, whole(sumOf(samples, "bridle_log_position"))],
    [words.store, size(sumOf(samples, "bridle_store_file_bytes"))],
    [words.free, size(sumOf(samples, "bridle_data_free_bytes"))],
    [words.streams, whole(sumOf(samples, "bridle_streams_open"))],
  ];
}

function useLooks(samples: readonly Sample[] | null): readonly Look[] {
  const [looks, setLooks] = useState<readonly Look[]>([]);
  useEffect(() => {
    if (samples === null) return;
    const look = {
      running: sumOf(samples, "bridle_runs_active"),
      queued: sumOf(samples, "bridle_tasks_ready"),
      answers: bucketsOf(samples, "bridle_http_request_duration_seconds"),
      commits: bucketsOf(samples, "bridle_store_commit_duration_seconds", { store: "log" }),
      requests: sumOf(samples, "bridle_http_requests_total"),
    };
    setLooks((before) => [...before.slice(1 - looksMax), look]);
  }, [samples]);
  return looks;
}

function between<T>(looks: readonly Look[], value: (before: Look, now: Look) => T): T[] {
  return looks.slice(1).map((now, n) => value(looks[n] ?? now, now));
}

function perSecond(before: Look, now: Look): number {
  return Math.max(0, now.requests - before.requests) / (lookMs / 1000);
}

function quantiles(looks: readonly Look[], of: "answers" | "commits"): Line[] {
  return [0.5, 0.95].map((quantile) => ({
    name: words.quantile(quantile * 100),
    values: between(looks, (before, now) => quantileOf(bucketsSince(before[of], now[of]), quantile)),
  }));
}

/** Where the time goes, since the server started. */
function Routes({ samples }: { samples: readonly Sample[] }) {
  const name = "bridle_http_request_duration_seconds";
  const counts = new Map<string, { method: string; route: string; count: number }>();
  for (const { name: of, labels, value } of samples) {
    const { method = "", route = "" } = labels;
    if (of === `${name}_count`) counts.set(`${method} ${route}`, { method, route, count: value });
  }
  const busiest = [...counts.values()].sort((a, b) => b.count - a.count).slice(0, routesShown);
  if (busiest.length === 0) return null;
  return (
    <>
      <h2>{words.routes}</h2>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={words.routes}>
        <table className="plain">
          <thead>
            <tr>
              <th>{words.route}</th>
              <th>{words.count}</th>
              <th>{words.quantile(50)}</th>
              <th>{words.quantile(95)}</th>
            </tr>
          </thead>
          <tbody>
            {busiest.map(({ method, route, count }) => {
              const buckets = bucketsOf(samples, name, { method, route });
              return (
                <tr key={`${method} ${route}`}>
                  <td>
                    <code>
                      {method} {route}
                    </code>
                  </td>
                  <td>{whole(count)}</td>
                  <td>{seconds(quantileOf(buckets, 0.5) ?? 0)}</td>
                  <td>{seconds(quantileOf(buckets, 0.95) ?? 0)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

async function readReady({ signal }: { signal: AbortSignal }): Promise<{ status: string; reason?: string }> {
  // Answered with 503 while no work is taken, and says why.
  return await (await sessionFetch("/ready", { signal })).json();
}

async function readRuntime({
  signal,
}: {
  signal: AbortSignal;
}): Promise<{ task_count: number; session_count: number }> {
  const headers = { "Harn-Agents-Protocol-Version": protocolVersion };
  const response = await sessionFetch("/v1/runtime", { signal, headers });
  if (!response.ok) throw new Error(response.statusText);
  return await response.json();
}

/** Null for keys that do not get them. */
async function readMetricsPage({ signal }: { signal: AbortSignal }): Promise<Sample[] | null> {
  const response = await sessionFetch("/metrics", { signal });
  return response.ok ? readMetrics(await response.text()) : null;
}

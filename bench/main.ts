/** `npm run bench`: a durable task from submit to outcome, beside a bare HTTP echo, as a ratio. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { startProcess } from "./process.ts";

const connectionCounts = [1, 32, 128];
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const key = "bench-key-bench-key";

interface Measurement {
  perSecond: number;
  p50: number;
  p99: number;
}

async function measure(target: autocannon.Options): Promise<Measurement> {
  const result = await autocannon({ method: "POST", duration: seconds, ...target });
  const failed = result.errors + result.non2xx + result.mismatches;
  if (failed > 0)
    throw new Error(`${failed} of ${result.requests.total} requests to ${target.url} went wrong`);
  return {
    perSecond: result.requests.total / result.duration,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

const data = mkdtempSync(join(tmpdir(), "bridle-bench-"));
try {
  await using echo = await startProcess([path("./echo-server.ts")]);
  await using bridle = await startProcess(
    [
      path("../src/cli/main.ts"),
      "serve",
      "--port",
      "0",
      "--grpc-port",
      "off",
      "--data",
      data,
      "--log-level",
      "error",
    ],
    { BRIDLE_API_KEY: key },
  );
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${key}`,
    "harn-agents-protocol-version": "agents-protocol-2026-04-25",
  };
  const response = await fetch(`${bridle.url}/v1/sessions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ workspace_id: "workspace_default" }),
  });
  const { id: sessionId } = (await response.json()) as { id: string };
  const body = JSON.stringify({
    session_id: sessionId,
    input: { role: "user", parts: [{ type: "text", text: "hello", visibility: "public" }] },
  });
  const task: autocannon.Options = {
    url: `${bridle.url}/v1/tasks`,
    headers: { ...headers, prefer: "wait=10" },
    body,
    // A task that did not complete would make the number a lie.
    verifyBody: (text) => String(text).includes('"status":"COMPLETED"'),
  };
  const bare: autocannon.Options = { url: echo.url, headers: { "content-type": "application/json" }, body };

  console.log("One echo task, submitted, run and completed, every event on disk before the answer.");
  console.log(`Medians of ${rounds} rounds of ${seconds} s, alternating with a bare node:http JSON echo.\n`);
  console.log("connections   bare echo/s   tasks/s   ratio    p50 ms   p99 ms");
  await measure({ ...task, connections: 32, duration: 2 });
  for (const connections of connectionCounts) {
    const echoes: Measurement[] = [];
    const tasks: Measurement[] = [];
    for (let round = 0; round < rounds; round++) {
      echoes.push(await measure({ ...bare, connections }));
      tasks.push(await measure({ ...task, connections }));
    }
    const echoed = median(echoes.map((m) => m.perSecond));
    const completed = median(tasks.map((m) => m.perSecond));
    const cells = [
      String(connections).padStart(11),
      echoed.toFixed(0).padStart(13),
      completed.toFixed(0).padStart(9),
      (completed / echoed).toFixed(2).padStart(7),
      median(tasks.map((m) => m.p50))
        .toFixed(1)
        .padStart(9),
      median(tasks.map((m) => m.p99))
        .toFixed(1)
        .padStart(8),
    ];
    console.log(cells.join(" "));
  }
} finally {
  rmSync(data, { recursive: true, force: true });
}

/**
 * `npm run bench`: durable work over HTTP, beside a bare HTTP echo and the official A2A SDK's own server with its
 * in-memory store, as ratios of one run.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { startProcess } from "./process.ts";

const connectionCounts = [1, 32, 128];
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const key = "bench-key-0123456789-abcdef";

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

const json = { "content-type": "application/json" };

function messageBody(messageId: string): string {
  const message = { messageId, role: "ROLE_USER", parts: [{ text: "hello" }] };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } });
}

/** The same message for both servers; every one has an id of its own, since a repeated one is the same work. */
function sendMessage(url: string, headers: Record<string, string>): autocannon.Options {
  const [before = "", after = ""] = messageBody("@").split("@");
  let sent = 0;
  const setupRequest = (request: autocannon.Request) => {
    sent += 1;
    return { ...request, body: `${before}m${sent}${after}` };
  };
  return {
    url,
    headers: { ...json, "a2a-version": "1.0", ...headers },
    requests: [{ setupRequest }],
    // A task that did not complete would make the number a lie.
    verifyBody: (text) => String(text).includes('"state":"TASK_STATE_COMPLETED"'),
  };
}

async function submitTask(url: string): Promise<autocannon.Options> {
  const headers = {
    ...json,
    authorization: `Bearer ${key}`,
    "harn-agents-protocol-version": "agents-protocol-2026-04-25",
  };
  const session = JSON.stringify({ workspace_id: "workspace_default" });
  const response = await fetch(`${url}/v1/sessions`, { method: "POST", headers, body: session });
  const { id: session_id } = (await response.json()) as { id: string };
  const input = { role: "user", parts: [{ type: "text", text: "hello", visibility: "public" }] };
  return {
    url: `${url}/v1/tasks`,
    headers: { ...headers, prefer: "wait=10" },
    body: JSON.stringify({ session_id, input }),
    verifyBody: (text) => String(text).includes('"status":"COMPLETED"'),
  };
}

const data = mkdtempSync(join(tmpdir(), "bridle-bench-"));
try {
  await using echo = await startProcess([path("./echo-server.ts")]);
  await using sdk = await startProcess([path("./a2a-sdk-server.ts")]);
  const flags = ["--port", "0", "--grpc-port", "off", "--data", data, "--log-level", "error"];
  await using bridle = await startProcess([path("../bridle.js"), "serve", ...flags], {
    env: { BRIDLE_API_KEY: key },
  });
  const opvs = sendMessage(`${bridle.url}/opvs/rpc`, { authorization: `Bearer ${key}` });
  const targets = {
    bare: { url: echo.url, headers: json, body: messageBody("m1") },
    sdk: sendMessage(sdk.url, {}),
    opvs,
    harn: await submitTask(bridle.url),
  };
  const names = Object.keys(targets) as (keyof typeof targets)[];

  console.log(
    "One echo task, sent, run and completed; on Bridle every event on disk before the answer, and a signed receipt.",
  );
  console.log(
    `Medians of ${rounds} rounds of ${seconds} s, all four in turn. opvs: SendMessage over JSON-RPC;`,
  );
  console.log(
    "harn: POST /v1/tasks; sdk: the A2A SDK's server in memory; echo: a bare node:http JSON echo.\n",
  );
  console.log(
    "connections   echo/s    sdk/s   opvs/s   harn/s   opvs:sdk  opvs:echo  harn:echo   opvs p50/p99 ms",
  );
  for (const name of names) await measure({ ...targets[name], connections: 32, duration: 2 });
  for (const connections of connectionCounts) {
    const measured: Record<keyof typeof targets, Measurement[]> = { bare: [], sdk: [], opvs: [], harn: [] };
    for (let round = 0; round < rounds; round++) {
      for (const name of names) measured[name].push(await measure({ ...targets[name], connections }));
    }
    const rate = (name: keyof typeof targets) => median(measured[name].map((m) => m.perSecond));
    const cells = [
      String(connections).padStart(11),
      ...names.map((name) => rate(name).toFixed(0).padStart(8)),
      (rate("opvs") / rate("sdk")).toFixed(2).padStart(10),
      (rate("opvs") / rate("bare")).toFixed(2).padStart(10),
      (rate("harn") / rate("bare")).toFixed(2).padStart(10),
      `${median(measured.opvs.map((m) => m.p50)).toFixed(1)} / ${median(measured.opvs.map((m) => m.p99)).toFixed(1)}`.padStart(
        17,
      ),
    ];
    console.log(cells.join(" "));
  }
} finally {
  rmSync(data, { recursive: true, force: true });
}

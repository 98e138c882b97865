/** Requests a second and latencies, Bridle beside a bare HTTP echo and the A2A SDK's servers in memory, all in turn. */

import { benchFile, startBridle } from "./bridle.ts";
import { grpcSendMessage } from "./grpc-target.ts";
import { httpTarget, load, type Measurement, type Target } from "./load.ts";
import { startProcess } from "./process.ts";
import { sendMessage, sendMessageBody, sendStreamingMessage, submitTask } from "./requests.ts";
import { median, spread } from "./statistics.ts";
import type { Section } from "./table.ts";

const connectionCounts = [1, 32, 128];
const warmUp = { seconds: 1.5 };

/** Servers that are compared with one another, by what is asked of them. The first is the yardstick. */
type Targets = Record<string, Target>;

interface Series {
  request: string;
  connections: number;
  targets: Targets;
  measured: Record<string, Measurement[]>;
}

export interface Rates {
  section: Section;
  /** SendMessage over JSON-RPC at 32 connections, beside the A2A SDK's. */
  opvsToSdk: number;
}

export async function measureRates(seconds: number, rounds: number): Promise<Rates> {
  await using echo = await startProcess([benchFile("./echo-server.ts")]);
  await using sdk = await startProcess([benchFile("./a2a-sdk-server.ts")], { waitFor: "gRPC" });
  await using bridle = await startBridle({ grpc: true });
  const bare = { url: echo.url, headers: {}, body: sendMessageBody, expected: "SendMessage" };
  const message = {
    "a2a-js": sendMessage(sdk.url),
    Bridle: sendMessage(`${bridle.url}/opvs/rpc`),
    "bare echo": httpTarget(bare),
  };
  const streaming = {
    "a2a-js": sendStreamingMessage(sdk.url),
    Bridle: sendStreamingMessage(`${bridle.url}/opvs/rpc`),
  };
  const harn = { "a2a-js": message["a2a-js"], Bridle: await submitTask(bridle.url) };
  const grpc = { "a2a-js": grpcSendMessage(sdk.grpcUrl), Bridle: grpcSendMessage(bridle.grpcUrl) };
  const allSeries: Series[] = [
    ...connectionCounts.map((connections) => series("SendMessage", connections, message)),
    series("SendStreamingMessage", 32, streaming),
    series("Harn POST /v1/tasks, wait", 32, harn),
    series("SendMessage, gRPC", 32, grpc),
  ];
  const distinct = new Set(allSeries.flatMap(({ targets }) => Object.values(targets)));
  for (const target of distinct) await load(target, 32, warmUp);
  for (let round = 0; round < rounds; round++) {
    for (const { connections, targets, measured } of allSeries) {
      for (const [name, target] of Object.entries(targets))
        measured[name]?.push(await load(target, connections, { seconds }));
    }
  }
  return { section: present(allSeries, seconds, rounds), opvsToSdk: ratioAt32(allSeries) };
}

function series(request: string, connections: number, targets: Targets): Series {
  const measured = Object.fromEntries(Object.keys(targets).map((name) => [name, []]));
  return { request, connections, targets, measured };
}

/** Rounds are compared one by one, since both servers met the same machine in each. */
function ratios({ measured }: Series, name: string, what: "perSecond" | "p99" = "perSecond"): number[] {
  const yardstick = Object.values(measured)[0] ?? [];
  return (measured[name] ?? []).map((one, round) => one[what] / (yardstick[round]?.[what] ?? Number.NaN));
}

function ratioAt32(allSeries: Series[]): number {
  const found = allSeries.find(({ connections }) => connections === 32);
  return found === undefined ? Number.NaN : median(ratios(found, "Bridle"));
}

function present(allSeries: Series[], seconds: number, rounds: number): Section {
  const rows = allSeries.flatMap((one) =>
    Object.entries(one.measured).map(([name, measured]) => [
      one.request,
      String(one.connections),
      name,
      spread(ratios(one, name)),
      spread(ratios(one, name, "p99")),
      spread(measured.map(({ perSecond }) => perSecond)),
      spread(measured.map(({ p50 }) => p50)),
      spread(measured.map(({ p99 }) => p99)),
      `${(median(measured.map(({ generatorLoad }) => generatorLoad)) * 100).toFixed(0)} %`,
    ]),
  );
  return {
    title: "Requests a second",
    about: [
      "Each request is a complete `echo` task. On Bridle every event is on disk before the answer, and there is a signed receipt; a2a-js keeps tasks in memory;",
      `the echo parses JSON and answers with it. ${rounds} rounds of ${seconds} s, all servers in turn: median (lowest–highest). Ratios are to a2a-js in the same round: of requests a second more is better, of p99 less;`,
      "Harn's is to `SendMessage` over JSON-RPC, as a2a-js has no Harn. The last column is the share of one processor that the load generator took.",
    ].join("\n"),
    columns: [
      "request",
      "connections",
      "server",
      "ratio",
      "p99 ratio",
      "requests/s",
      "p50 ms",
      "p99 ms",
      "generator",
    ],
    rows,
  };
}

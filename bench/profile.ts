/**
 * `npm run bench:profile`: where the main thread's time goes while it serves `SendMessage`, by layer and by function: the self times of a sampling
 * profile, mapped from the bundle back to the sources.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startBridle } from "./bridle.ts";
import { load } from "./load.ts";
import { sendMessage } from "./requests.ts";
import { rounded } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";

const connections = 32;
const warmUp = { requests: 2000 };
const root = join(import.meta.dirname, "..");

/** The first that matches counts. */
const layers: [string, RegExp][] = [
  ["garbage collector", /^\(garbage collector\)$/],
  ["native code and system calls", /^\(/],
  ["surfaces: OPVS", /^src\/surfaces\/opvs\//],
  ["surfaces: the rest", /^src\/surfaces\//],
  ["receipts", /^src\/(kernel\/)?receipts\//],
  ["redaction", /^src\/policy\/redact/],
  ["policy", /^src\/policy\//],
  ["kernel", /^src\/kernel\//],
  ["store", /^(src\/store\/|node:sqlite|node:internal\/worker)/],
  ["runtime and agent", /^src\/(runtime|agents)\//],
  ["Fastify", /^node_modules\/(@fastify|fastify|find-my-way|avvio|light-my-request|fast-|secure-json)/],
  ["node: HTTP and sockets", /^node:(_http|http|net|internal\/(http|streams|stream_base|dtrace))/],
  ["node: crypto", /^node:(crypto|internal\/crypto)/],
  ["node: timers, promises, the rest", /^node:/],
  ["other packages", /^node_modules\//],
];
const otherLayer = "other";

interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

interface Profile {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
  /** Microseconds of the monotonic clock, which all processes share. */
  startTime: number;
}

/** Where a function is from, and microseconds per request in it alone. */
interface SelfTime {
  file: string;
  name: string;
  us: number;
}

export async function measureProfile(requests: number): Promise<{ section: Section; functions: Section }> {
  const folder = mkdtempSync(join(tmpdir(), "bridle-profile-"));
  try {
    await using bridle = await startBridle({ node: ["--cpu-prof", `--cpu-prof-dir=${folder}`] });
    const target = sendMessage(`${bridle.url}/opvs/rpc`);
    await load(target, connections, warmUp);
    const from = monotonicUs();
    await load(target, connections, { requests });
    const to = monotonicUs();
    await bridle.stop();
    const times = selfTimes(mainProfile(folder), from, to, requests);
    return { section: byLayer(times, requests), functions: byFunction(times) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

/** `CPU.<date>.<time>.<pid>.<thread>.<n>.cpuprofile`: the main thread is 0. */
function mainProfile(folder: string): Profile {
  const file = readdirSync(folder).find((name) => name.split(".").at(-3) === "0");
  if (file === undefined) throw new Error("The server left no profile of its main thread");
  return JSON.parse(readFileSync(join(folder, file), "utf8"));
}

function selfTimes(profile: Profile, from: number, to: number, requests: number): SelfTime[] {
  const spent = new Map<number, number>();
  let at = profile.startTime;
  for (const [n, id] of profile.samples.entries()) {
    // The time after a sample is counted for it, until the next.
    at += profile.timeDeltas[n] ?? 0;
    const us = profile.timeDeltas[n + 1] ?? 0;
    if (at >= from && at < to) spent.set(id, (spent.get(id) ?? 0) + us);
  }
  const maps = new SourceMaps();
  const files = new Map<number, string>();
  // Parents come before their children.
  for (const { id, callFrame, children = [] } of profile.nodes) {
    const file = maps.fileOf(callFrame) ?? files.get(id) ?? callFrame.functionName;
    files.set(id, file);
    // What is built into Node.js has no file, and is counted where it is called.
    for (const child of children) files.set(child, file);
  }
  return profile.nodes
    .filter(({ id, callFrame }) => spent.has(id) && callFrame.functionName !== "(idle)")
    .map(({ id, callFrame }) => ({
      file: files.get(id) ?? "",
      name: callFrame.functionName,
      us: (spent.get(id) ?? 0) / requests,
    }));
}

/** Finds what a function of the bundle was made from. */
class SourceMaps {
  readonly #maps = new Map<string, SourceMap>();

  fileOf({ functionName, url, lineNumber, columnNumber }: CallFrame): string | undefined {
    if (functionName.startsWith("(")) return functionName;
    if (!url.startsWith("file:")) return url === "" ? undefined : url;
    const path = fileURLToPath(url);
    let map = this.#maps.get(path);
    if (map === undefined) {
      map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")));
      this.#maps.set(path, map);
    }
    const entry = map.findEntry(lineNumber, columnNumber);
    if (!("originalSource" in entry)) return basename(path);
    return relative(root, join(path, "..", entry.originalSource));
  }
}

function layerOf(file: string): string {
  return layers.find(([, pattern]) => pattern.test(file))?.[0] ?? otherLayer;
}

function sums(times: SelfTime[], keyOf: (time: SelfTime) => string): [string, number][] {
  const sum = new Map<string, number>();
  for (const time of times) sum.set(keyOf(time), (sum.get(keyOf(time)) ?? 0) + time.us);
  return [...sum].toSorted(([, a], [, b]) => b - a);
}

function withShares(entries: [string, number][], whole: number): string[][] {
  return entries.map(([name, us]) => [name, rounded(us), `${((us / whole) * 100).toFixed(1)} %`]);
}

function wholeOf(times: SelfTime[]): number {
  return times.reduce((sum, { us }) => sum + us, 0);
}

function byLayer(times: SelfTime[], requests: number): Section {
  const whole = wholeOf(times);
  return {
    title: "The main thread by layer",
    about: [
      `Self times of a sampling profile of ${requests} \`SendMessage\` requests at ${connections} connections, each sample counted for the folder of the source that`,
      "the function is from; what is native counts for its caller. The profiler itself takes time, and a sample counts the wait for a processor too: read the shares.",
    ].join("\n"),
    columns: ["layer", "µs per request", "share"],
    rows: withShares([...sums(times, ({ file }) => layerOf(file)), ["all", whole]], whole),
  };
}

function byFunction(times: SelfTime[]): Section {
  return {
    title: "The main thread by function",
    about: "The 40 functions with the most time of their own.",
    columns: ["function", "µs per request", "share"],
    rows: withShares(sums(times, ({ file, name }) => `${name} ${file}`).slice(0, 40), wholeOf(times)),
  };
}

if (import.meta.main) {
  const { section, functions } = await measureProfile(Number(process.env.BENCH_REQUESTS ?? 5000));
  console.log(markdown(section));
  console.log(markdown(functions));
}

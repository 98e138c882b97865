/**
 * `npm run bench:start`: how long commands take to answer and a server to be ready, as medians of five, each beside an empty Node.js
 * process in the same run. The data directory with many tasks is made first, by a server, over its API.
 */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freshBundle } from "../build/fresh.ts";
import { createClient } from "../src/sdk/client/index.ts";
import { startProcess } from "./process.ts";

const rounds = 5;
const tasks = Number(process.argv[2] ?? 100_000);
if (!Number.isSafeInteger(tasks))
  throw new Error("Give the number of tasks, as in npm run bench:start -- 100000");
const clone = join(import.meta.dirname, "../bridle.js");
const bundled = join(await freshBundle(), "main.js");
const place = mkdtempSync(join(tmpdir(), "bridle-start-"));
const key = "bench-key-0123456789-abcdef";
const environment = { ...process.env, BRIDLE_API_KEY: key, BRIDLE_LOG_LEVEL: "error" };

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function commandMs(args: string[]): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, args, { env: environment });
  return performance.now() - startedAt;
}

/** Until it says that it is ready, which is after it listens. */
async function readyMs(main: string, data: string): Promise<number> {
  const startedAt = performance.now();
  const args = [main, "serve", "--port", "0", "--grpc-port", "0", "--data", data];
  const server = spawn(process.execPath, args, { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  await once(server.stdout, "data");
  const took = performance.now() - startedAt;
  server.kill("SIGINT");
  await once(server, "exit");
  return took;
}

async function fill(data: string): Promise<void> {
  const flags = ["serve", "--port", "0", "--grpc-port", "off", "--data", data, "--log-level", "error"];
  await using server = await startProcess([bundled, ...flags], { env: { BRIDLE_API_KEY: key } });
  const client = createClient({ url: server.url, key });
  const { id: sessionId } = await client.sessions.create();
  let left = tasks;
  const submit = async () => {
    while (left-- > 0) await client.tasks.submit({ sessionId, input: "hello" });
  };
  await Promise.all(Array.from({ length: 64 }, submit));
}

async function measure(what: string, take: () => number | Promise<number>): Promise<void> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round++) taken.push(await take());
  console.log(`${what.padEnd(58)} ${median(taken).toFixed(0).padStart(6)} ms`);
}

try {
  await measure("an empty Node.js process", () => commandMs(["--eval", ""]));
  for (const [name, main] of [
    ["package", bundled],
    ["clone", clone],
  ] as const) {
    await measure(`bridle --version (${name})`, () => commandMs([main, "--version"]));
    await measure(`bridle --help (${name})`, () => commandMs([main, "--help"]));
    let n = 0;
    await measure(`bridle serve, an empty directory (${name})`, () =>
      readyMs(main, join(place, `${name}${n++}`)),
    );
  }
  const full = join(place, "full");
  await fill(full);
  await measure(`bridle serve, a directory with ${tasks} tasks`, () => readyMs(bundled, full));
} finally {
  rmSync(place, { recursive: true });
}

/**
 * `npm run bench:sizing`: what work costs in disk and memory, for docs/operations/sizing.md. Amounts, not times: they are much the same on a
 * busy machine. A server of its own is given tasks that end, tasks that wait for a person, and streams that are idle.
 */

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createClient } from "../client/index.ts";
import { startProcess } from "./process.ts";

const ended = Number(process.env.BENCH_TASKS ?? 2000);
const parked = Number(process.env.BENCH_PARKED ?? 2000);
const streams = Number(process.env.BENCH_STREAMS ?? 500);
const key = "bench-key-bench-key";
const atOnce = 16;

const data = mkdtempSync(join(tmpdir(), "bridle-bench-"));
const main = fileURLToPath(new URL("../bridle.js", import.meta.url));
const flags = ["--port", "0", "--grpc-port", "off", "--data", data, "--log-level", "warn"];

/** What the database and the blobs hold. The write-ahead log is left out: it grows to a size and is then written over. */
function bytesOnDisk(): number {
  using database = new DatabaseSync(join(data, "bridle.db"), { readOnly: true });
  const { page_count } = database.prepare("PRAGMA page_count").get() ?? {};
  const { page_size } = database.prepare("PRAGMA page_size").get() ?? {};
  return Number(page_count) * Number(page_size) + blobBytes();
}

function blobBytes(): number {
  const blobs = join(data, "blobs");
  if (!existsSync(blobs)) return 0;
  return readdirSync(blobs, { recursive: true, encoding: "utf8" })
    .map((file) => statSync(join(blobs, file)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1024;
}

async function times(count: number, act: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await act();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} kB`;
const mb = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`;

try {
  await using server = await startProcess([main, "serve", ...flags], { BRIDLE_API_KEY: key });
  const { pid } = JSON.parse(await readFile(join(data, "server.json"), "utf8"));
  const bridle = createClient({ url: server.url, key });
  const { id: sessionId } = await bridle.sessions.create();
  const run = async (agent: string, input: string) => {
    const { id } = await bridle.tasks.submit({ agent, input, sessionId });
    await bridle.tasks.wait(id);
  };
  console.log(`a server that has done nothing         ${mb(await resident(pid))} of memory`);

  await times(100, () => run("echo", "hello"));
  const before = bytesOnDisk();
  await times(ended, () => run("echo", "hello"));
  console.log(`a task that says one thing and ends    ${kb((bytesOnDisk() - before) / ended)} on disk`);
  const steps = "step one\nstep two\nstep three\nsay done";
  const beforeSteps = bytesOnDisk();
  await times(ended / 4, () => run("rehearsal", steps));
  console.log(
    `one with three steps                   ${kb((bytesOnDisk() - beforeSteps) / (ended / 4))} on disk`,
  );

  const beforeParked = [bytesOnDisk(), await resident(pid)] as const;
  await times(parked, () => run("rehearsal", "ask Shall we?"));
  const [disk, memory] = [bytesOnDisk() - beforeParked[0], (await resident(pid)) - beforeParked[1]];
  console.log(
    `a task that waits for a person         ${kb(disk / parked)} on disk, ${kb(memory / parked)} of memory`,
  );

  const beforeStreams = await resident(pid);
  const over = new AbortController();
  await times(streams, async () => {
    const headers = {
      authorization: `Bearer ${key}`,
      "harn-agents-protocol-version": "agents-protocol-2026-04-25",
    };
    const response = await fetch(`${server.url}/v1/events/stream`, { headers, signal: over.signal });
    if (!response.ok) throw new Error(`A stream was refused with ${response.status}`);
  });
  console.log(
    `a stream that nothing is said on       ${kb(((await resident(pid)) - beforeStreams) / streams)} of memory`,
  );
  over.abort();
  console.log(
    `the server at the end                  ${mb(await resident(pid))} of memory, ${mb(bytesOnDisk())} on disk`,
  );
} finally {
  rmSync(data, { recursive: true, force: true });
}

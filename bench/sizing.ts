/**
 * `npm run bench:sizing`: what work costs in disk and memory, for docs/operations/sizing.md. Amounts, not times: they are much the same on a
 * busy machine. A server of its own is given tasks that end, tasks that wait for a person, and streams that are idle.
 */

import { createClient } from "../client/index.ts";
import { benchKey, harnHeaders, startBridle } from "./bridle.ts";
import { rounded } from "./statistics.ts";
import { markdown, type Section } from "./table.ts";
import { bytesOnDisk, residentBytes } from "./usage.ts";

const ended = Number(process.env.BENCH_TASKS ?? 2000);
const parked = Number(process.env.BENCH_PARKED ?? 2000);
const streams = Number(process.env.BENCH_STREAMS ?? 500);
const atOnce = 16;

async function times(count: number, act: () => Promise<unknown>): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await act();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

export async function measureSizing(): Promise<Section> {
  await using server = await startBridle();
  const bridle = createClient({ url: server.url, key: benchKey });
  const { id: sessionId } = await bridle.sessions.create();
  const run = async (agent: string, input: string) => {
    const { id } = await bridle.tasks.submit({ agent, input, sessionId });
    await bridle.tasks.wait(id);
  };
  const used = () => ({ disk: bytesOnDisk(server.data), memory: residentBytes(server.pid) });
  const between = async (count: number, act: () => Promise<unknown>) => {
    const before = used();
    await times(count, act);
    const { disk, memory } = used();
    return {
      disk: `${rounded((disk - before.disk) / count / 1024)} kB`,
      memory: `${rounded((memory - before.memory) / count / 1024)} kB`,
    };
  };

  const idle = used();
  await times(100, () => run("echo", "hello"));
  const simple = await between(ended, () => run("echo", "hello"));
  const steps = await between(ended / 4, () => run("rehearsal", "step one\nstep two\nstep three\nsay done"));
  const waiting = await between(parked, () => run("rehearsal", "ask Shall we?"));
  const over = new AbortController();
  const listening = await between(streams, async () => {
    const response = await fetch(`${server.url}/v1/events/stream`, {
      headers: harnHeaders,
      signal: over.signal,
    });
    if (!response.ok) throw new Error(`A stream was refused with ${response.status}`);
  });
  over.abort();
  const end = used();
  return {
    title: "Disk and memory",
    about: `${ended} tasks that end, ${ended / 4} with steps, ${parked} that wait, ${streams} streams; memory is what the process has resident, of which caches have their share.`,
    columns: ["", "disk", "memory"],
    rows: [
      ["a server that has done nothing", "", `${rounded(idle.memory / 2 ** 20)} MB`],
      // What the first tasks take in memory is the compiler's and the caches', not theirs.
      ["a task that says one thing and ends", simple.disk, ""],
      ["one with three steps", steps.disk, ""],
      ["a task that waits for a person", waiting.disk, waiting.memory],
      ["a stream on which nothing happens", "", listening.memory],
      ["the server at the end", `${rounded(end.disk / 2 ** 20)} MB`, `${rounded(end.memory / 2 ** 20)} MB`],
    ],
  };
}

if (import.meta.main) console.log(markdown(await measureSizing()));

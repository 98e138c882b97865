/**
 * `npm run bench:sizing`: what work costs in disk and memory, for docs/operations/sizing.md. Amounts, not times: they are much the same on a
 * busy machine. A server of its own is given tasks that end, tasks that wait for a person, and streams that are idle.
 */

import { createClient } from "../src/sdk/client/index.ts";
import { benchFile, benchKey, harnHeaders, startBridle } from "./bridle.ts";
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
  const probe = ["--expose-gc", "--import", benchFile("./memory-use.ts")];
  await using server = await startBridle({ node: probe, ipc: true });
  const bridle = createClient({ url: server.url, key: benchKey });
  const { id: sessionId } = await bridle.sessions.create();
  const run = async (agent: string, input: string) => {
    const { id } = await bridle.tasks.submit({ agent, input, sessionId });
    await bridle.tasks.wait(id);
  };
  const used = async () => ({ disk: bytesOnDisk(server.data), memory: Number(await server.ask()) });
  const between = async (count: number, act: () => Promise<unknown>) => {
    const before = await used();
    await times(count, act);
    const { disk, memory } = await used();
    return {
      disk: `${rounded((disk - before.disk) / count / 1024)} kB`,
      memory: `${rounded((memory - before.memory) / count / 1024)} kB`,
    };
  };

  const idle = residentBytes(server.pid);
  await times(100, () => run("echo", "hello"));
  const simple = await between(ended, () => run("echo", "hello"));
  const steps = await between(ended / 4, () => run("rehearsal", "step one\nstep two\nstep three\nsay done"));
  const waiting = await between(parked, () => run("rehearsal", "ask Shall we?"));
  const over = new AbortController();
  // A session of its own: a stream of the whole workspace begins with all that has happened.
  const { id: quiet } = await bridle.sessions.create();
  // A response that nobody holds is closed by the client.
  const responses: Response[] = [];
  const listening = await between(streams, async () => {
    const url = `${server.url}/v1/sessions/${quiet}/events/stream`;
    const response = await fetch(url, { headers: harnHeaders, signal: over.signal });
    if (!response.ok) throw new Error(`A stream was refused with ${response.status}`);
    responses.push(response);
  });
  over.abort();
  return {
    title: "Disk and memory",
    about: `${ended} tasks that end, ${ended / 4} with steps, ${parked} that wait, ${streams} streams; memory of each is what is in use after a garbage collection, that of the server what is resident.`,
    columns: ["", "disk", "memory"],
    rows: [
      ["a server that has done nothing", "", `${rounded(idle / 2 ** 20)} MB`],
      ["a task that says one thing and ends", simple.disk, simple.memory],
      ["one with three steps", steps.disk, steps.memory],
      ["a task that waits for a person", waiting.disk, waiting.memory],
      ["a stream on which nothing happens", "", listening.memory],
      [
        "the server at the end",
        `${rounded(bytesOnDisk(server.data) / 2 ** 20)} MB`,
        `${rounded(residentBytes(server.pid) / 2 ** 20)} MB`,
      ],
    ],
  };
}

if (import.meta.main) console.log(markdown(await measureSizing()));

/**
 * `npm run bench:sizing`: what work costs in disk and memory, for docs/operations/sizing.md. Amounts, not times: they are much the same on a
 * busy machine. A server of its own is given tasks that end, tasks that wait for a person, and streams that are idle.
 */

import { createClient } from "../client/index.ts";
import { benchKey, harnHeaders, startBridle } from "./bridle.ts";
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

const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} kB`;
const mb = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MB`;

await using server = await startBridle();
const bridle = createClient({ url: server.url, key: benchKey });
const disk = () => bytesOnDisk(server.data);
const memory = () => residentBytes(server.pid);
const { id: sessionId } = await bridle.sessions.create();
const run = async (agent: string, input: string) => {
  const { id } = await bridle.tasks.submit({ agent, input, sessionId });
  await bridle.tasks.wait(id);
};
console.log(`a server that has done nothing         ${mb(memory())} of memory`);

await times(100, () => run("echo", "hello"));
const before = disk();
await times(ended, () => run("echo", "hello"));
console.log(`a task that says one thing and ends    ${kb((disk() - before) / ended)} on disk`);
const steps = "step one\nstep two\nstep three\nsay done";
const beforeSteps = disk();
await times(ended / 4, () => run("rehearsal", steps));
console.log(`one with three steps                   ${kb((disk() - beforeSteps) / (ended / 4))} on disk`);

const beforeParked = [disk(), memory()] as const;
await times(parked, () => run("rehearsal", "ask Shall we?"));
const [diskTaken, memoryTaken] = [disk() - beforeParked[0], memory() - beforeParked[1]];
console.log(
  `a task that waits for a person         ${kb(diskTaken / parked)} on disk, ${kb(memoryTaken / parked)} of memory`,
);

const beforeStreams = memory();
const over = new AbortController();
await times(streams, async () => {
  const response = await fetch(`${server.url}/v1/events/stream`, {
    headers: harnHeaders,
    signal: over.signal,
  });
  if (!response.ok) throw new Error(`A stream was refused with ${response.status}`);
});
console.log(`a stream that nothing is said on       ${kb((memory() - beforeStreams) / streams)} of memory`);
over.abort();
console.log(`the server at the end                  ${mb(memory())} of memory, ${mb(disk())} on disk`);

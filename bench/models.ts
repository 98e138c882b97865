/**
 * `npm run bench:models`: what it costs that a model call is a durable step. The same calls are made to the same server twice in turn: by
 * the provider package alone, and by an agent on a Bridle of its own, where each is recorded before it is made and before its answer
 * is used. The server answers at once, so the difference is all Bridle's. A real model takes a second or more.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, startServer } from "../src/index.ts";
import type { ModelMessage } from "../src/models/messages.ts";
import { createModels } from "../src/models/providers.ts";
import { ModelServer } from "../test/support/model-server.ts";

const calls = Number(process.env.BENCH_CALLS ?? 300);
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const chunks = Number(process.env.BENCH_CHUNKS ?? 2000);
const key = "bench-key-0123456789-abcdef";
const model = "local/bench";

await using provider = await new ModelServer().start();
const words = "Nothing is as good as what is written down. ".repeat(5);
provider.always(({ body }) =>
  JSON.stringify(body).includes("at length") ? { chunks: Array(chunks).fill("word ") } : { text: words },
);
const models = createModels(
  {
    default: model,
    providers: { local: { kind: "openai-compatible", baseUrl: `${provider.url}/v1` } },
    prices: { "local/*": { input: 1, output: 1 } },
  },
  {},
);

/** Asks again and again: alone each time, or with all that was said before. */
const asker = defineAgent({
  name: "asker",
  version: "1",
  async run(ctx) {
    for (let n = 0; n < Number(ctx.input.calls); n++) await ctx.model.generate({ prompt: `Question ${n}` });
    return "done";
  },
});
const speaker = defineAgent({
  name: "speaker",
  version: "1",
  run: async (ctx) => (await ctx.model.stream({ prompt: "Speak at length." })).text.length,
});

const data = mkdtempSync(join(tmpdir(), "bridle-bench-"));
const agents = [asker, speaker];
const server = await startServer({ agents, models, port: 0, dataDirectory: data, apiKey: key });

async function api(path: string, body?: object): Promise<Record<string, string>> {
  const response = await fetch(server.url + path, {
    headers: {
      authorization: `Bearer ${key}`,
      "harn-agents-protocol-version": "agents-protocol-2026-04-25",
      "content-type": "application/json",
      prefer: "wait=60",
    },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return JSON.parse(await response.text());
}

async function ran(agent: string, input: object): Promise<string> {
  const { id: session_id } = await api("/v1/sessions", { workspace_id: "workspace_default" });
  const task = await api("/v1/tasks", { session_id, persona_id: `persona_${agent}`, input });
  if (task.status !== "COMPLETED") throw new Error(JSON.stringify(task));
  return task.id ?? "";
}

async function alone(): Promise<void> {
  const { signal } = new AbortController();
  for (let n = 0; n < calls; n++) {
    const messages: ModelMessage[] = [{ role: "user", content: `Question ${n}` }];
    await models.open(model).call({ messages }, { signal });
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await run();
  return performance.now() - begun;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

try {
  await alone();
  await ran("asker", { calls: 20 });
  const bare: number[] = [];
  const durable: number[] = [];
  for (let round = 0; round < rounds; round++) {
    bare.push((await timed(alone)) / calls);
    durable.push((await timed(() => ran("asker", { calls }))) / calls);
  }
  const [one, other] = [median(bare), median(durable)];
  console.log(`a call by the provider package alone   ${one.toFixed(2)} ms`);
  console.log(
    `the same as a durable step             ${other.toFixed(2)} ms, ${(other / one).toFixed(2)} of it`,
  );
  const taskId = await ran("speaker", {});
  const { data: events } = JSON.parse(JSON.stringify(await api(`/v1/tasks/${taskId}/events?limit=200`)));
  const told = events.filter(({ payload }: { payload: object }) => "delta" in payload).length;
  console.log(`${chunks} pieces of a streamed answer         ${told} events`);
} finally {
  await server.stop(1000);
  rmSync(data, { recursive: true, force: true });
}

/** What a task did, as the commands show it: inputs, outputs, errors with their place, questions beside their answers. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { defineAgent, defineTool, Type } from "bridle";
import { bridle } from "../support/cli.ts";
import { Client, isFinal, type Json } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

const weigh = defineTool({
  name: "weigh",
  description: "Weighs a parcel.",
  effect: "none",
  input: Type.Object({ parcel: Type.String() }),
  run: ({ parcel }) => ({ parcel, grams: 1200, notes: "x".repeat(1000) }),
});

const courier = defineAgent({
  name: "courier",
  version: "1.0.0",
  async run(ctx) {
    await ctx.tool(weigh, { parcel: "A-1" });
    const street = await ctx.ask("Which street?");
    await ctx.approve({ action: `drive to ${street}` });
    const options = { retries: 1, backoff: { initialMs: 1, maxMs: 1 } };
    await ctx.step("deliver", () => Promise.reject(new Error("nobody home")), options);
    return "delivered";
  },
});

let server: TestServer;
let client: Client;
let task: Json;
before(async () => {
  server = await startServer({ config: { agents: [courier] } });
  client = new Client(server);
  const session = await client.createSession();
  const { id } = await client.submit(session.id, "go", { persona_id: "persona_courier" });
  await client.untilTask(id, ({ status }) => status === "INPUT_REQUIRED");
  await client.answer(id, "Main St");
  await client.untilTask(id, ({ status }) => status === "AUTH_REQUIRED");
  const [request] = await client.listAll(`/v1/tasks/${id}/permission-requests`);
  await client.post(`/v1/permission-requests/${request.id}/respond`, { approved: true });
  task = await client.untilTask(id, isFinal);
});
after(() => server[Symbol.asyncDispose]());

async function shown(...args: string[]): Promise<string> {
  const { stdout, stderr, code } = await bridle(["task", ...args, task.id], { server, showsStacks: true });
  assert.equal(code, 0, stderr);
  return stdout;
}

test("VIS-1 task show lists the steps with what they were given and gave, and why they failed", async () => {
  const text = await shown("show");
  assert.match(text, /^\+ tool weigh +\{"parcel":"A-1"\} → \{"parcel":"A-1","grams":1200/m);
  assert.match(text, /asked: Which street\?\n> Main St\n/);
  assert.match(text, /approved by \S+: drive to Main St/);
  assert.match(text, /deliver: attempt 1 failed: nobody home/);
  assert.match(text, /^x deliver +nobody home/m);
});

test("VIS-2 task logs --verbose has inputs, outputs and stacks, cut; --full has all of them", async () => {
  const lines = await shown("logs");
  assert.doesNotMatch(lines, /thrown at/);
  const verbose = await shown("logs", "--verbose");
  assert.match(verbose, /given +\{"parcel":"A-1"\}\n/);
  assert.match(verbose, /gave +\{"parcel":"A-1","grams":1200,"notes":"x+… \(\d+ more characters: --full\)/);
  assert.match(verbose, /thrown at Error: nobody home\n +at .*visible\.e2e\.test\.ts:\d+/);
  assert.match(await shown("logs", "--full"), /"notes": "x{1000}"/);
});

test("VIS-2, RTY-13 a key without events:read_internal sees neither inputs, outputs nor stacks", async () => {
  const { key } = await client.createKey({ scopes: ["tasks:read", "events:read"] });
  const args = ["task", "logs", task.id, "--full"];
  const { stdout, stderr } = await bridle(args, { server, env: { BRIDLE_KEY: key } });
  assert.equal(stderr, "");
  assert.match(stdout, /weigh: done/);
  assert.doesNotMatch(stdout, /grams|thrown at|visible\.e2e/);
});

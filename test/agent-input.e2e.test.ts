/** What an agent takes: input that is something else never reaches its code. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Agent, defineAgent, type Server, startServer, Type } from "../src/index.ts";
import { Client, errorOf, isFinal, type Json, userMessage } from "./support/client.ts";
import { adminKey, temporaryDirectory } from "./support/server.ts";

const Build = Type.Object({ build: Type.String({ minLength: 1 }), count: Type.Optional(Type.Integer()) });
const base = { version: "1.0.0", run: async (ctx: { input: object }) => JSON.stringify(ctx.input) };

const own = defineAgent({ ...base, name: "own", input: Build });
const skilled = defineAgent({
  ...base,
  name: "skilled",
  skills: [{ id: "deploy", description: "Ship a build", input: Build }],
});
const free = defineAgent({
  ...base,
  name: "free",
  skills: [
    { id: "deploy", description: "Ship a build", input: Build },
    { id: "look", description: "Look" },
  ],
});

describe("the input of an agent", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: Server;
  let client: Client;
  let session: Json;
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const blocker = defineAgent({
    name: "blocker",
    version: "1.0.0",
    run: (ctx) => ctx.step("wait", () => released.then(() => "released")),
  });
  const agents: Agent[] = [own, skilled, free, blocker];

  before(async () => {
    directory = await temporaryDirectory();
    server = await startServer({
      port: 0,
      dataDirectory: directory.path,
      apiKey: adminKey,
      concurrency: 1,
      agents,
      agentsMayChange: true,
    });
    client = new Client(server);
    session = await client.createSession();
  });

  after(async () => {
    await server.stop(0);
    await directory[Symbol.asyncDispose]();
  });

  const submit = (agent: string, input: object) =>
    client.post("/v1/tasks", { session_id: session.id, persona_id: `persona_${agent}`, input });
  const jsonMessage = (value: unknown) => ({
    role: "user",
    parts: [
      { type: "text", text: "Please.", visibility: "public" },
      { type: "json", value, visibility: "public" },
    ],
  });

  async function summaryOf({ body }: Json): Promise<string> {
    const ended = await client.untilTask(body.id, isFinal);
    return (await client.get(`/v1/outcomes/${ended.outcome_id}`)).body.summary;
  }

  for (const agent of ["own", "skilled"]) {
    test(`PRJ-9 the ${agent === "own" ? "agent's own" : "only skill's"} schema rejects a wrong field`, async () => {
      // Given a schema of the ${agent === "own" ? "agent's own" : "only skill's"}, when input does not fit it, then it
      // is refused by the field's name, as data and as a message.
      const tooMuch = errorOf(await submit(agent, { build: "7", count: 1.5 }), 400);
      assert.deepEqual([tooMuch.code, tooMuch.param], ["invalid_request", "input.count"]);
      assert.match(tooMuch.message, new RegExp(`^The input is not what the agent ${agent} takes: `));
      for (const input of [
        {},
        { build: "" },
        userMessage("build 7"),
        jsonMessage({ built: "7" }),
        jsonMessage([]),
      ]) {
        assert.equal(errorOf(await submit(agent, input), 400).code, "invalid_request", JSON.stringify(input));
      }
      assert.deepEqual(await client.listAll("/v1/tasks"), [], "nothing was submitted");
    });
  }

  test("PRJ-9 valid input reaches the code, submitted as data or in a message", async () => {
    // Given input that fits, when it is submitted as data or in a message, then the code gets it.
    assert.equal(await summaryOf(await submit("own", { build: "7" })), '{"build":"7"}');
    assert.equal(
      await summaryOf(await submit("skilled", jsonMessage({ build: "8", count: 2 }))),
      '{"build":"8","count":2}',
    );
    // Whose skills differ takes what any of them might.
    assert.equal(await summaryOf(await submit("free", userMessage("look"))), "{}");
  });

  test("PRJ-9 a task fails before it runs if its code no longer accepts the submitted input", async () => {
    // Given input that was right when it was submitted, when the code that gets it takes something else, then the task
    // fails before it runs.
    const blocking = await submit("blocker", {});
    await client.untilTask(blocking.body.id, ({ status }) => status === "WORKING");
    const waiting = await submit("free", { text: "look" });
    await server.replaceAgents([own, skilled, blocker, { ...free, input: Build }]);
    release();
    const { status, failure } = await client.untilTask(waiting.body.id, isFinal);
    assert.equal(status, "FAILED");
    assert.equal(failure.code, "invalid_input");
    assert.match(failure.message, /^The input is not what free takes: /);
  });
});

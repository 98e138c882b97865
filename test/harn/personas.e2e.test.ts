/** Personas: roles whose policy holds for every task that names them, however it came. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { Client, errorOf, isFinal, type Json, until } from "../support/client.ts";
import {
  assertRepeatable,
  createPersona,
  perform,
  receiptOf,
  resultsOf,
  workerServer,
  workOf,
} from "../support/policy.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

const mail = { do: "effect", name: "mail" };

describe("personas", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: TestProcess;
  let client: Client;
  let sessionId: string;

  const notes = () => join(directory.path, "notes.txt");
  const done = () => readFileSync(notes(), "utf8").split("\n").filter(Boolean);
  const start = async () => {
    server = await startProcess({
      data: directory.path,
      script: workerServer,
      env: { AGENT_NOTES: notes() },
    });
    client = new Client(server);
  };
  /** Has a persona with this policy do something. */
  const work = async (policy: object, ...ops: object[]): Promise<Json> => {
    const { id: personaId } = await createPersona(client, policy);
    return await perform(client, { sessionId, personaId }, ...ops);
  };
  const respond = (task: Json, approved: boolean) =>
    client.post(`/v1/permission-requests/${task.waiting_for.permission_request_id}/respond`, { approved });
  const patch = (id: string, body: object) => client.call(`/v1/personas/${id}`, { method: "PATCH", body });

  before(async () => {
    directory = await temporaryDirectory();
    await start();
  });
  beforeEach(async () => {
    writeFileSync(notes(), "");
    sessionId = (await client.createSession()).id;
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  test("PER-1 each change of a persona creates a new version, and an equal one creates none", async () => {
    // Given a persona, when it is changed, then each change is a version of its own and an equal one is none.
    const { id } = await createPersona(client, { tools: ["a"] });
    assert.equal((await patch(id, { tools: ["b"] })).body.version, "1.0.1");
    assert.equal((await patch(id, { tools: ["b"] })).body.version, "1.0.1");
    assert.equal((await patch(id, { tools: [], version: "2.0" })).body.version, "2.0");
    for (const version of ["2.0", "1.0.0", "1.0.1"])
      assert.equal(errorOf(await patch(id, { tools: ["c"], version }), 400).param, "version");
    const { body } = await client.get(`/v1/personas/${id}`);
    assert.deepEqual([body.version, body.tools], ["2.0", []]);
    assert.ok((await client.listAll("/v1/personas")).some((persona) => persona.id === id));
  });

  test("PER-1 a waiting task keeps the persona version it was submitted under", async () => {
    // Given a task that waits, when its persona is changed meanwhile, then it keeps the version it was submitted under.
    const { id: personaId } = await createPersona(client, { autonomy_tier: "shadow" });
    const work = { sessionId, personaId };
    const waiting = await perform(client, work, { do: "ask", question: "?" }, mail);
    await patch(personaId, { autonomy_tier: "act_auto" });
    await client.answer(waiting.id, "yes");
    const task = await client.untilTask(waiting.id, isFinal);
    assert.deepEqual(await resultsOf(client, task), ["yes", "simulated"]);
    assert.deepEqual(done(), []);
    const { receipt } = { receipt: await receiptOf(client, task) };
    assert.match(JSON.stringify(receipt), new RegExp(`${personaId}@1.0.0`));
    assert.deepEqual(await resultsOf(client, await perform(client, work, mail)), ["done"]);
  });

  for (const [tier, outcome] of [
    ["shadow", "simulated"],
    ["suggest", "proposed"],
    ["act_auto", "done"],
  ] as const) {
    test(`PER-2 with autonomy ${tier} the effect is ${outcome} in result, receipt and replay`, async () => {
      // Given the autonomy ${tier}, when the agent acts, then the effect is ${outcome}, the receipt says so, and it
      // repeats.
      const task = await work({ autonomy_tier: tier }, mail);
      assert.deepEqual(await resultsOf(client, task), [outcome]);
      assert.deepEqual(done(), tier === "act_auto" ? ["mail"] : []);
      const receipt = await receiptOf(client, task);
      const { side_effects, autonomy_budget, trust } = receipt.receipt ?? receipt;
      const [call] = side_effects.tool_calls;
      assert.equal(trust.start_tier, tier);
      assert.equal(call.status, tier === "act_auto" ? "succeeded" : "canceled");
      assert.equal(call.metadata?.autonomy_tier, tier === "act_auto" ? undefined : tier);
      assert.equal(autonomy_budget.consumed.tool_calls, tier === "act_auto" ? 1 : 0);
      const proposals = (await client.listAll("/v1/artifacts")).filter(({ task_id }) => task_id === task.id);
      assert.equal(proposals.length, tier === "suggest" ? 1 : 0);
      assert.equal(call.metadata?.proposal_artifact_id, proposals[0]?.id);
      await assertRepeatable(client, task);
      assert.equal(done().length, tier === "act_auto" ? 1 : 0);
    });
  }

  test("PER-3 an effect approved after the server died while asking is carried out once", async () => {
    // Given an effect that needs approval, when the server dies while it is asked and it is approved then, then the
    // effect is carried out once.
    const asked = await work({ autonomy_tier: "act_with_approval" }, mail);
    assert.equal(asked.status, "AUTH_REQUIRED");
    await server.kill();
    await start();
    assert.deepEqual(done(), []);
    await respond(asked, true);
    const task = await client.untilTask(asked.id, isFinal);
    assert.deepEqual(await resultsOf(client, task), ["done"]);
    assert.deepEqual(done(), ["mail"]);
    await assertRepeatable(client, task);
    assert.deepEqual(done(), ["mail"]);
  });

  test("PER-3 an effect whose approval is denied or never answered is not carried out", async () => {
    // Given an effect that needs approval, when it is denied or nobody answers, then it is not carried out.
    const denied = await work({ autonomy_tier: "act_with_approval" }, mail);
    await respond(denied, false);
    const task = await client.untilTask(denied.id, isFinal);
    assert.deepEqual(await resultsOf(client, task), ["approval_denied"]);
    const { id: personaId } = await createPersona(client, { autonomy_tier: "act_with_approval" });
    const { body } = await client.post(
      "/v1/tasks",
      workOf({ sessionId, personaId }, { ...mail, expiresInMs: 50 }),
    );
    const expired = await client.untilTask(body.id, isFinal);
    assert.deepEqual(await resultsOf(client, expired), ["deadline_exceeded"]);
    assert.deepEqual(done(), []);
    for (const ended of [task, expired]) await assertRepeatable(client, ended);
  });

  test("PER-8 a persona that acts alone asks for approval from its risk threshold on", async () => {
    // Given a persona that acts by itself and asks from a risk on, when effects of each risk are next, then those below
    // are done and those from there on wait for approval.
    const effectOf = (risk: string) => ({ do: "effect", name: `mail-${risk}`, risk });
    const policy = { autonomy_tier: "act_auto", approval_policy: { ask_from: "high" } };
    const effects = ["low", "medium", "high", "dangerous"].map(effectOf);
    const first = await work(policy, effects[0] ?? {}, mail, ...effects.slice(1));
    assert.deepEqual([first.status, done()], ["AUTH_REQUIRED", ["mail-low", "mail", "mail-medium"]]);
    const asked = await client.listAll(`/v1/tasks/${first.id}/permission-requests`);
    assert.deepEqual([asked.length, asked[0]?.request.risk], [1, "high"], JSON.stringify(asked));
    await respond(first, true);
    const second = await client.untilTask(
      first.id,
      (task) => task.status === "AUTH_REQUIRED" && done().includes("mail-high"),
    );
    await respond(second, false);
    const task = await client.untilTask(first.id, isFinal);
    assert.deepEqual(await resultsOf(client, task), ["done", "done", "done", "done", "approval_denied"]);
    assert.equal(done().includes("mail-dangerous"), false);
    await assertRepeatable(client, task);
  });

  test("PER-8 a persona that asks for everything still does so with a risk threshold", async () => {
    // Given a persona that asks for everything, when it also names a risk to ask from, then it still asks for
    // everything.
    const policy = { autonomy_tier: "act_with_approval", approval_policy: { ask_from: "dangerous" } };
    const task = await work(policy, { ...mail, risk: "low" });
    assert.deepEqual([task.status, done()], ["AUTH_REQUIRED", []]);
  });

  test("PER-8 a child acts under the lower risk threshold of itself and its parent", async () => {
    // Given a parent and a child that ask from different risks on, when the child acts, then the one that asks sooner
    // counts.
    const asking = (ask_from: string) => ({ approval_policy: { ask_from } });
    const handOver = async (own: object, child: object) => {
      const { id } = await createPersona(client, child);
      const effect = { ...mail, risk: "medium" };
      const parent = await work(own, { do: "spawn", persona: id, ops: [{ ...effect, expiresInMs: 50 }] });
      const [[result]] = await resultsOf(client, await client.untilTask(parent.id, isFinal));
      return result.output;
    };
    assert.deepEqual(await handOver(asking("dangerous"), asking("low")), ["deadline_exceeded"]);
    assert.deepEqual(await handOver(asking("medium"), asking("high")), ["deadline_exceeded"]);
    assert.deepEqual(await handOver(asking("medium"), {}), ["deadline_exceeded"]);
    assert.deepEqual(done(), []);
    assert.deepEqual(await handOver(asking("high"), asking("dangerous")), ["done"]);
  });

  test("PER-4 a step beyond the allowed tools, hand-offs or models fails by name and does nothing", async () => {
    // Given lists of tools, hand-offs and models, when the agent goes beyond them, then that step fails by name and
    // nothing is done.
    const other = await createPersona(client);
    const task = await work(
      {
        tools: ["mail", "files.*"],
        handoffs: [],
        model_policy: { allowed_models: ["acme/*"], max_tokens: 100 },
      },
      mail,
      { do: "effect", name: "files.write" },
      { do: "effect", name: "files" },
      { do: "mcp", name: "shell" },
      { do: "mcp", name: "files.read" },
      { do: "llm", model: "acme/one", maxTokens: 100 },
      { do: "llm", model: "acme/one", maxTokens: 101 },
      { do: "llm", model: "acme/one" },
      { do: "llm", model: "other/one", maxTokens: 1 },
      { do: "llm", maxTokens: 1 },
      { do: "spawn", persona: other.id },
      { do: "spawn" },
    );
    const no = "policy_violation";
    const own = [{ status: "SUCCEEDED", output: [] }];
    assert.deepEqual(await resultsOf(client, task), [
      ...["done", "done", no, no, "called", "tokens", no, no, no, no],
      [no],
      own,
    ]);
    assert.deepEqual(done(), ["mail", "files.write"]);
    await assertRepeatable(client, task);
    assert.deepEqual(await resultsOf(client, await work({ tools: [] }, mail)), [no]);
  });

  test("PER-5 a child with a freer persona is not freer than its restricted parent", async () => {
    // Given a restricted persona, when its work is handed to a freer one, then the child is not freer.
    const free = await createPersona(client, { autonomy_tier: "act_auto" });
    const task = await work({ autonomy_tier: "shadow" }, { do: "spawn", persona: free.id, ops: [mail] });
    assert.deepEqual(await resultsOf(client, task), [[{ status: "SUCCEEDED", output: ["simulated"] }]]);
    assert.deepEqual(done(), []);
  });

  test("PER-5 a persona's policy applies equally to session, child and scheduled tasks", async () => {
    // Given one persona, when its tasks come through a session, as a child or by the clock, then the same policy holds.
    const { id: personaId } = await createPersona(client, { autonomy_tier: "shadow" });
    const { body } = await client.post(`/v1/sessions/${sessionId}/tasks`, {
      persona_id: personaId,
      input: { ops: [mail] },
    });
    assert.deepEqual(await resultsOf(client, await client.untilTask(body.id, isFinal)), ["simulated"]);
    const child = await work({}, { do: "spawn", persona: personaId, ops: [mail] });
    assert.deepEqual(await resultsOf(client, child), [[{ status: "SUCCEEDED", output: ["simulated"] }]]);
    await patch(personaId, { schedules: [{ cron: "* * * * * *", input: { ops: [mail] } }] });
    const scheduled = await until(
      async () => (await client.listAll("/v1/tasks")).find(({ metadata }) => metadata.schedule_id),
      (task) => task !== undefined && isFinal(task),
    );
    await patch(personaId, { schedules: [] });
    assert.deepEqual(await resultsOf(client, scheduled), ["simulated"]);
    assert.deepEqual(done(), []);
  });

  test("PER-3 a replay with an overridden effect result uses it and carries out nothing", async () => {
    // Given an effect that was carried out, when its task is replayed with another result for it, then the agent goes on
    // with that and nothing is done.
    const session = await client.createSession();
    const source = await client.rehearse(session.id, "effect deploy");
    const { body } = await client.post(`/v1/tasks/${source.id}/replay`, {
      mode: "with_overrides",
      override: { "effect:deploy:1": { kind: "tool_result", value: 42 } },
    });
    await client.untilTask(body.id, ({ status }) => status === "COMPLETED");
    const events = await client.listAll(`/v1/tasks/${body.id}/events`);
    const said = events
      .filter(({ event }) => event === "agent.message")
      .map(({ payload }) => payload.message.parts[0].text);
    assert.deepEqual(said, ["Effect deploy was done (42)"]);
  });

  test("PER-6 a task gets a receipt under every receipt policy except disabled", async () => {
    // Given each receipt policy, when a task ends, then there is a receipt unless it is disabled.
    for (const receipt_policy of ["required", "optional", "disabled"]) {
      const { receipt_id } = await work({ receipt_policy }, mail);
      assert.equal(receipt_id === null, receipt_policy === "disabled", receipt_policy);
    }
  });

  test("PER-7 bound keys, other tenants and invalid bodies cannot change personas", async () => {
    // Given a bound key, another tenant, or a body that is wrong, when it comes to personas, then it is refused by name
    // and nothing changes.
    const persona = await createPersona(client);
    const path = `/v1/personas/${persona.id}`;
    const change = { method: "PATCH", body: { name: "Mine" } };
    const bound = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    errorOf(await bound.call(path, change), 403);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
    for (const options of [{}, change]) errorOf(await stranger.call(path, options), 404);
    for (const [field, value] of [
      ["autonomy_tier", "free"],
      ["receipt_policy", "never"],
      ["tools", "mail"],
      ["model_policy", { max_tokens: 0 }],
      ["approval_policy", { ask_from: "never" }],
      ["name", ""],
    ] as const)
      assert.match(errorOf(await patch(persona.id, { [field]: value }), 400).param, new RegExp(`^${field}`));
    const misnamed = errorOf(await patch(persona.id, { model_policy: { model: "gpt-6" } }), 400);
    assert.match(misnamed.message, /^model_policy\.model must name a model as provider\/model/);
    errorOf(await patch(persona.id, { quota_id: "quota_none" }), 404);
    const { body } = await client.get(path);
    assert.deepEqual([body.name, body.version], ["Worker", "1.0.0"]);
  });
});

/** Persona policy that acts on new tasks: which version a session gets, and the texts that its agent is given. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { defineAgent } from "bridle";
import { loadContextPacks } from "../../src/project/context-packs.ts";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

const teller = defineAgent({
  name: "teller",
  version: "1.0.0",
  async run(ctx) {
    const { version, contextPacks } = ctx.persona;
    const texts: string[] = [];
    for (const name of contextPacks) texts.push(await ctx.context(name));
    if (ctx.input.more === true) await ctx.context("secret-plans");
    return { version, texts };
  },
});

let server: TestServer;
let client: Client;
before(async () => {
  const contextPacks = new Map([
    ["handbook", "Be kind."],
    ["secret-plans", "Hidden."],
  ]);
  server = await startServer({ config: { agents: [teller], contextPacks } });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

async function work(personaId: string, sessionId: string, input: object = {}): Promise<Json> {
  const task = { session_id: sessionId, persona_id: personaId, input };
  const { body } = await client.post("/v1/tasks", task, { prefer: "wait=20" });
  return isFinal(body) ? body : await client.untilTask(body.id, isFinal);
}

async function saidBy(task: Json): Promise<Json> {
  return (await client.get(`/v1/outcomes/${task.outcome_id}`)).body.messages[0].parts[0].value;
}

const patch = (id: string, body: object) => client.call(`/v1/personas/${id}`, { method: "PATCH", body });

describe("rollout_policy", () => {
  test("PER-30 a share of the sessions gets the new version, always the same; others keep the baseline", async () => {
    // Given a persona of which half of the sessions get the new version, when they work twice, then both versions work,
    // and every session has one.
    const persona = await createPersona(client, { entry_workflow: "teller", version: "1" });
    const policy = { strategy: "percent", percent: 50, baseline_version: "1" };
    const changed = await patch(persona.id, { version: "2", rollout_policy: policy });
    assert.deepEqual(
      [changed.status, changed.body.rollout_policy],
      [200, policy],
      JSON.stringify(changed.body),
    );
    const versionIn = async (id: string) => (await saidBy(await work(persona.id, id))).version;
    const sessions = await Promise.all(Array.from({ length: 24 }, () => client.createSession()));
    const first = await Promise.all(sessions.map(({ id }) => versionIn(id)));
    assert.deepEqual([...new Set(first)].sort(), ["1", "2"]);
    const [one, another] = [first.indexOf("1"), first.indexOf("2")];
    assert.equal(await versionIn(sessions[one]?.id), "1");
    assert.equal(await versionIn(sessions[another]?.id), "2");

    const all = await patch(persona.id, { rollout_policy: { ...policy, percent: 100 } });
    assert.equal(await versionIn(sessions[one]?.id), all.body.version);
    await patch(persona.id, { rollout_policy: { ...policy, percent: 0 } });
    assert.equal(await versionIn(sessions[another]?.id), "1");
    const over = await patch(persona.id, { rollout_policy: {} });
    assert.equal(await versionIn(sessions[one]?.id), over.body.version);
  });

  test("PER-30 another form, and a baseline that is not the version before, are refused", async () => {
    const persona = await createPersona(client, { entry_workflow: "teller", version: "1" });
    const policy = { strategy: "percent", percent: 50, baseline_version: "1" };
    const refused = [
      { ...policy, percent: 101 },
      { ...policy, strategy: "canary" },
      { ...policy, baseline_version: "0" },
      { ...policy, require_evals: true },
    ];
    for (const rollout_policy of refused) {
      const answer = await patch(persona.id, { rollout_policy });
      assert.equal(errorOf(answer, 422).param, "rollout_policy", JSON.stringify(rollout_policy));
    }
    assert.equal((await client.get(`/v1/personas/${persona.id}`)).body.version, "1");
  });
});

describe("context_packs", () => {
  test("PER-31 an agent is given the packs its persona names and no others; the receipt has their hashes", async () => {
    const persona = await createPersona(client, { entry_workflow: "teller", context_packs: ["handbook"] });
    const { id } = await client.createSession();
    const task = await work(persona.id, id);
    assert.deepEqual((await saidBy(task)).texts, ["Be kind."]);
    const { body: receipt } = await client.get(`/v1/receipts/${task.receipt_id}`);
    const material = receipt.replay_input.materials.find(({ id }: Json) => id === "context:handbook:1");
    assert.match(material.sha256, /^sha256:/);
    const refused = await work(persona.id, id, { more: true });
    assert.deepEqual([refused.status, refused.failure.code], ["FAILED", "context_unavailable"]);
    const unknown = await patch(persona.id, { context_packs: ["none"] });
    assert.equal(errorOf(unknown, 422).param, "context_packs");
  });

  test("PER-31 a project's packs are the files of context/, by their names", async () => {
    await using directory = await temporaryDirectory();
    mkdirSync(join(directory.path, "context"));
    for (const [file, text] of Object.entries({ "a.md": "A", "b.json": "{}", "c.txt": "C" }))
      writeFileSync(join(directory.path, "context", file), text);
    assert.deepEqual(
      [...(await loadContextPacks(directory.path))],
      [
        ["a", "A"],
        ["b", "{}"],
      ],
    );
    writeFileSync(join(directory.path, "context", "a.json"), "{}");
    await assert.rejects(loadContextPacks(directory.path), /another context pack a/);
  });
});

/** SEC-H3: a replay must not act on a made-up answer of a model, nor under a policy that is no longer. */

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { defineAgent, defineTool, Type } from "../../src/index.ts";
import { Client, errorOf, isFinal, type Json } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer } from "../support/server.ts";

const transfers: unknown[] = [];

function payment(name: string) {
  return defineTool({
    name,
    description: "Transfers money.",
    input: Type.Object({ to: Type.String(), cents: Type.Integer() }),
    output: Type.Object({}),
    effect: "irreversible",
    async run(input) {
      transfers.push(input);
      return {};
    },
  });
}

const transfer = payment("bank.transfer");
const wire = payment("bank.wire");

/** New tasks get the newest version. In the older ones there is one more payment, in the first with another tool. */
function payer(version: string) {
  return defineAgent({
    name: "payer",
    version,
    async run(ctx) {
      const plan = await ctx.step("main", () => [{ to: "alice", cents: 100 }], { kind: "llm" });
      for (const each of plan) await ctx.tool(transfer, each);
      if (version !== "3.0.0") await ctx.tool(version === "2.0.0" ? transfer : wire, { to: "bob", cents: 1 });
      return plan.length;
    },
  });
}

let server: TestServer;
let admin: Client;
before(async () => {
  server = await startServer({ config: { agents: ["3.0.0", "2.0.0", "1.0.0"].map(payer) } });
  admin = new Client(server);
});
after(() => server[Symbol.asyncDispose]());
beforeEach(() => transfers.splice(0));

const forged = [
  { to: "alice", cents: 100 },
  { to: "mallory", cents: 999_999 },
];
const liveRequest = {
  mode: "with_overrides",
  override: { "llm:main:1": { kind: "llm_provider_response", value: forged } },
  metadata: { allow_live: ["tool"] },
};

async function paid(fields: object = {}): Promise<{ task: Json; persona: Json }> {
  const persona = await createPersona(admin, { entry_workflow: "payer", ...fields });
  const session = await admin.createSession();
  const { id } = await admin.submit(session.id, "pay", { persona_id: persona.id });
  const task = await admin.untilTask(id, isFinal);
  assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
  transfers.splice(0);
  return { task, persona };
}

async function holderOf(...scopes: string[]): Promise<Client> {
  return admin.as((await admin.createKey({ scopes })).key);
}

test("SEC-H3 a key without replays:live replays nothing live", async () => {
  const { task } = await paid();
  const by = await holderOf("tasks:write", "tasks:read");
  const error = errorOf(await by.post(`/v1/tasks/${task.id}/replay`, liveRequest), 403);
  assert.equal(error.details.required_scope, "replays:live");
  const exact = await by.post(`/v1/tasks/${task.id}/replay`, { mode: "exact" });
  assert.equal(exact.status, 202);
  assert.deepEqual(transfers, []);
});

test("SEC-H3 nothing is done because of a made-up model answer", async () => {
  const { task } = await paid();
  for (const kind of ["tool", "mcp", "host", "step"]) {
    const request = { ...liveRequest, metadata: { allow_live: [kind] } };
    const error = errorOf(await admin.post(`/v1/tasks/${task.id}/replay`, request), 422);
    assert.equal(error.code, "policy_violation");
  }
  assert.deepEqual(transfers, []);
});

/** The payment is in the log, and another version of the agent makes one more. */
const again = { mode: "with_overrides", metadata: { allow_live: ["tool"], agent_version: "2.0.0" } };

test("SEC-H3 a live replay runs under what its persona allows now", async () => {
  const { task, persona } = await paid();
  assert.deepEqual(await outcomeOf(task), ["COMPLETED", 1], "it is done while it is allowed");
  for (const hardened of [{ tools: [] }, { autonomy_tier: "shadow" }]) {
    const changed = await admin.call(`/v1/personas/${persona.id}`, { method: "PATCH", body: hardened });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    assert.deepEqual(await outcomeOf(task), ["FAILED", 0]);
  }
});

test("SEC-H3 a live replay runs under what its persona allowed then", async () => {
  const { task, persona } = await paid({ tools: ["bank.transfer"] });
  const loosened = { tools: ["*"] };
  const changed = await admin.call(`/v1/personas/${persona.id}`, { method: "PATCH", body: loosened });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.deepEqual(await outcomeOf(task, "1.0.0"), ["FAILED", 0], "another tool than then");
  assert.deepEqual(await outcomeOf(task), ["COMPLETED", 1]);
});

/** How a live replay ends, and how often it paid. */
async function outcomeOf(task: Json, version = "2.0.0"): Promise<[string, number]> {
  transfers.splice(0);
  const request = { ...again, metadata: { ...again.metadata, agent_version: version } };
  const { status, body } = await admin.post(`/v1/tasks/${task.id}/replay`, request);
  assert.equal(status, 202, JSON.stringify(body));
  const ended = await admin.untilTask(body.id, (seen) => isFinal(seen) || seen.status === "AUTH_REQUIRED");
  return [ended.status, transfers.length];
}

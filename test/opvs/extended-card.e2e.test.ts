/** The extended card: who gets it, what is in it for whom, and that it is signed like the others. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fromJson } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { canonicalCard, strippedCard, verifyCard } from "../../src/policy/agent-card.ts";
import { config } from "../support/cards-server.ts";
import { type Answer, Client, type Json } from "../support/client.ts";
import { createPersona } from "../support/policy.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const version1 = { "a2a-version": "1.0" };

/** Over HTTP+JSON; the front door when no agent is named. */
async function extended(agent: string | null, key: string | null = client.key): Promise<Answer> {
  const base = agent === null ? "/opvs" : `/opvs/agents/${agent}`;
  return await client.call(`${base}/rest/extendedAgentCard`, { key, headers: version1 });
}

async function extendedOverRpc(agent: string, key: string | null = client.key): Promise<Answer> {
  return await client.call(`/opvs/agents/${agent}/rpc`, {
    body: { jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard" },
    key,
    headers: version1,
  });
}

function skillIds({ body }: Answer): string[] {
  return body.skills.map(({ id }: Json) => id);
}

test("CRD-9 a fully privileged extended card is signed and has personas and skills", async () => {
  // Given a caller who may see everything, when the extended card is read, then it has the personas that run the agent
  // and the registered skills, and is signed.
  const persona = await createPersona(client, { name: "Archivist", entry_workflow: "skilled" });
  const skill = await client.post("/v1/skills", {
    name: "Filing",
    description: "Files things.",
    capabilities: ["files"],
  });
  assert.equal(skill.status, 201, JSON.stringify(skill.body));
  const answer = await extended("skilled");
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.ok(skillIds(answer).includes("count-words"));
  assert.ok(skillIds(answer).includes(persona.id));
  assert.ok(skillIds(answer).includes("persona_skilled"));
  assert.ok(skillIds(answer).includes(skill.body.id));
  assert.ok(!skillIds(answer).includes("persona_rehearsal"));
  assert.deepEqual((await extendedOverRpc("skilled")).body.result, answer.body);
  fromJson(AgentCardSchema, answer.body);
  assert.equal(canonicalCard(answer.body), strippedCard(answer.body));
  const { keys } = (await client.get("/.well-known/jwks.json")).body;
  assert.equal(await verifyCard(answer.body, keys), true);
});

test("CRD-9 the front door's extended card lists every agent's skills once, by agent name", async () => {
  // Given the front door, when the extended card is read, then it has every agent's skills under the agent's name, none
  // twice.
  const ids = skillIds(await extended(null));
  assert.ok(ids.includes("echo") && ids.includes("skilled/count-words") && ids.includes("silent/silent"));
  assert.ok(ids.includes("persona_rehearsal"));
  assert.equal(new Set(ids).size, ids.length);
});

test("OPVS-123 an extended card shows each caller only what it may see", async () => {
  // Given callers who may see less, when they read the extended card, then each is told no more than it may see.
  const reader = await client.createKey({ scopes: ["tasks:read"] });
  const without = skillIds(await extended("skilled", reader.key));
  assert.ok(!without.some((id) => /^(persona|skill)_/.test(id)), without.join());
  const personas = await client.createKey({ scopes: ["personas:read"] });
  const some = skillIds(await extended("skilled", personas.key));
  assert.ok(some.includes("persona_skilled") && !some.some((id) => id.startsWith("skill_")), some.join());
  const stranger = await client.createKey({ tenant_id: "tenant_other" });
  const { body } = await extended("skilled", stranger.key);
  assert.ok(!JSON.stringify(body).includes("Archivist") && !JSON.stringify(body).includes("Filing"));
  assert.ok(body.skills.some(({ id }: Json) => id === "persona_skilled.tenant_other"));
});

test("OPVS-122 an extended card without credentials answers 401, at a public agent too", async () => {
  // Given nobody's credentials, when the extended card is asked for, then it is 401, at a public agent too.
  for (const agent of ["skilled", "open"]) {
    for (const key of [null, "wrong"]) {
      assert.equal((await extended(agent, key)).status, 401, `${agent} ${key}`);
      assert.equal((await extendedOverRpc(agent, key)).status, 401, `${agent} ${key}`);
    }
  }
  assert.equal((await extended("open")).status, 200);
});

test("OPVS-43 an agent without an extended card rejects the operation as unsupported", async () => {
  // Given an agent that offers no extended card, when it is asked for, then the operation is not supported.
  const { status, body } = await extended("plain");
  assert.deepEqual([status, body.error.details[0].reason], [400, "UNSUPPORTED_OPERATION"]);
  assert.equal((await extendedOverRpc("plain")).body.error.code, -32004);
});

test("OPVS-44 an unconfigured extended card is reported as not configured", async () => {
  // Given an agent whose extended card is not configured, when it is asked for, then that is said.
  const { status, body } = await extended("unset");
  assert.deepEqual([status, body.error.details[0].reason], [400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"]);
  assert.equal((await extendedOverRpc("unset")).body.error.code, -32007);
});

test("CRD-9 the headers of an extended card let only its caller cache it", async () => {
  // Given the extended card over HTTP, when its headers are read, then it is kept by nobody but the one who asked.
  const { headers } = await extended("skilled");
  assert.match(headers.get("cache-control") ?? "", /^private, max-age=\d+$/);
  assert.match(headers.get("vary") ?? "", /Authorization/);
  assert.equal((await extended("skilled", "wrong")).headers.get("cache-control"), "no-store");
});

/** Skills and tools: what the loaded agents bring along, and what is registered. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { defineAgent } from "../../src/runtime/agents/agent.ts";
import { Client, errorOf, type Json } from "../support/client.ts";
import { config } from "../support/knowledge-agents-server.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({ config });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

const sum = { name: "sum", description: "Adds numbers." };

async function createSkill(body: object = {}): Promise<Json> {
  const answer = await client.post("/v1/skills", { ...sum, ...body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body;
}

const patch = (id: string, body: object) => client.call(`/v1/skills/${id}`, { method: "PATCH", body });
const remove = (id: string) => client.call(`/v1/skills/${id}`, { method: "DELETE" });

describe("Skills", () => {
  test("SKL-1 skills of loaded agents are listed and read with the schemas of their code", async () => {
    // Given loaded agents, when skills are listed and read, then theirs are there with the schemas of their code.
    const skills = await client.listAll("/v1/skills");
    const lend = skills.find(({ id }) => id === "librarian/lend");
    assert.equal(lend.input_schema.properties.days.minimum, 1);
    assert.equal(lend.output_schema.properties.due.type, "string");
    assert.deepEqual([lend.source, lend.version], ["librarian", "1"]);
    const browse = (await client.get("/v1/skills/librarian%2Fbrowse")).body;
    assert.deepEqual([browse.name, browse.input_schema, browse.output_schema], ["Browse", null, null]);
    const { skills: onCard } = (await client.get("/v1/agent-card")).body;
    assert.deepEqual(
      skills.filter(({ source }) => source === "librarian").map(({ id }) => id),
      onCard.filter(({ source }: Json) => source === "librarian").map(({ id }: Json) => id),
    );
    for (const method of ["PATCH", "DELETE"]) {
      const answer = await client.call("/v1/skills/librarian%2Flend", { method, body: {} });
      assert.equal(errorOf(answer, 409).details.agent, "librarian");
    }
  });

  test("SKL-2 a registered skill can be read, changed and deleted", async () => {
    // Given a registered skill, when it is read, changed and deleted, then each is so from then on.
    const input_schema = {
      type: "object",
      properties: { n: { $ref: "#/$defs/num" } },
      $defs: { num: { type: "number" } },
    };
    const said = {
      input_schema,
      version: "2.0",
      capabilities: ["math"],
      requires_approval: true,
      source: "host",
    };
    const skill = await createSkill(said);
    for (const [name, value] of Object.entries(said)) assert.deepEqual(skill[name], value, name);
    assert.deepEqual([skill.output_schema, skill.deprecated], [null, false]);
    const { body } = await patch(skill.id, { deprecated: true, input_schema: null });
    assert.deepEqual(body, { ...skill, deprecated: true, input_schema: null, updated_at: body.updated_at });
    assert.deepEqual((await client.get(`/v1/skills/${skill.id}`)).body, body);
    assert.equal((await remove(skill.id)).status, 204);
    errorOf(await client.get(`/v1/skills/${skill.id}`), 404);
    errorOf(await patch(skill.id, { deprecated: false }), 404);
    errorOf(await remove(skill.id), 404);
    assert.ok((await client.listAll("/v1/skills")).every(({ id }) => id !== skill.id));
  });

  const noSchemas: Record<string, object> = {
    "a type that is none": { type: "nothing" },
    "a type that is a number": { type: 5 },
    "properties that are no schemas": { type: "object", properties: { a: { type: "text" } } },
    "a pattern that is none": { type: "string", pattern: "(" },
    "a reference to nowhere": { $ref: "#/$defs/missing" },
    "a reference to elsewhere": { $ref: "https://example.com/schema" },
  };
  for (const [what, schema] of Object.entries(noSchemas)) {
    test(`SKL-2 a skill with ${what} in its schema is rejected naming the field`, async () => {
      // Given ${what} in a schema, when a skill is registered or changed with it, then it is refused naming the field.
      const skill = await createSkill();
      for (const name of ["input_schema", "output_schema"]) {
        assert.equal(errorOf(await client.post("/v1/skills", { ...sum, [name]: schema }), 400).param, name);
        assert.equal(errorOf(await patch(skill.id, { [name]: schema }), 400).param, name);
      }
      assert.deepEqual((await client.get(`/v1/skills/${skill.id}`)).body, skill);
    });
  }

  test("SKL-2 a skill with a schema that is too large is rejected", async () => {
    // Given a schema that is too large, when a skill is registered with it, then it is refused.
    const input_schema = { description: "x".repeat(70_000) };
    assert.equal(
      errorOf(await client.post("/v1/skills", { ...sum, input_schema }), 413).param,
      "input_schema",
    );
  });

  test("SKL-2 pages of any size return each registered and agent skill once", async () => {
    // Given registered skills and those of agents, when all are walked by pages of any size, then each comes once.
    for (let n = 0; n < 5; n++) await createSkill();
    const all = (await client.listAll("/v1/skills")).map(({ id }) => id);
    assert.ok(all.length > 8);
    assert.equal(new Set(all).size, all.length);
    for (let limit = 1; limit <= all.length; limit++) {
      const walked = (await client.listAll("/v1/skills", limit)).map(({ id }) => id);
      assert.deepEqual(walked, all, `pages of ${limit}`);
    }
    errorOf(await client.get("/v1/skills?cursor=nonsense"), 400);
  });

  test("SKL-2 rejects keys without the scope, of another tenant or bound to a workspace", async () => {
    // Given keys without the scope, of another tenant and bound to a workspace, when they use skills, then they are
    // refused.
    const skill = await createSkill();
    const reader = await client.withScopes("skills:read");
    errorOf(await reader.post("/v1/skills", sum), 403);
    errorOf(await (await client.withScopes("skills:write")).get("/v1/skills"), 403);
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_stranger" })).key);
    errorOf(await stranger.get(`/v1/skills/${skill.id}`), 404);
    errorOf(await stranger.call(`/v1/skills/${skill.id}`, { method: "DELETE" }), 404);
    const bound = client.as((await client.createKey({ workspace_ids: ["workspace_default"] })).key);
    errorOf(await bound.post("/v1/skills", sum), 403);
    errorOf(await bound.call(`/v1/skills/${skill.id}`, { method: "DELETE" }), 403);
    assert.equal((await bound.get(`/v1/skills/${skill.id}`)).status, 200);
  });

  test("SKL-3 a session is created with its skill ids, an unknown skill is rejected", async () => {
    // Given skills, when a session is created with their ids, then it has them; an unknown one is refused.
    const skill = await createSkill();
    const session = await client.createSession({ skill_ids: [skill.id, "librarian/lend"] });
    assert.deepEqual((await client.get(`/v1/sessions/${session.id}`)).body.skill_ids, [
      skill.id,
      "librarian/lend",
    ]);
    errorOf(
      await client.post("/v1/sessions", { workspace_id: "workspace_default", skill_ids: ["librarian/none"] }),
      404,
    );
  });

  test("SKL-3 a task whose input does not fit the named skill is rejected naming the field", async () => {
    // Given a task that names a skill of its agent, when its input is not what the skill takes, then it is refused
    // naming the field.
    const session = await client.createSession();
    const submit = (skill_id: unknown, input: object, persona_id = "persona_librarian") =>
      client.post("/v1/tasks", { session_id: session.id, persona_id, input, metadata: { skill_id } });
    assert.equal((await submit("librarian/lend", { title: "Emma", days: 3 })).status, 202);
    assert.equal(
      errorOf(await submit("librarian/lend", { title: "Emma", days: 0 }), 400).param,
      "input.days",
    );
    errorOf(await submit("librarian/lend", { title: "Emma" }), 400);
    assert.equal((await submit("librarian/browse", {})).status, 202);
    assert.equal((await submit((await createSkill()).id, {})).status, 202);
    for (const id of ["librarian/none", "skill_none"])
      assert.equal(errorOf(await submit(id, {}), 400).param, "metadata.skill_id");
    const elsewhere = await submit("librarian/lend", { title: "Emma", days: 3 }, "persona_porter");
    assert.equal(errorOf(elsewhere, 400).param, "metadata.skill_id");
    assert.equal((await submit(17, {})).status, 202);
  });
});

describe("Tools", () => {
  test("TOL-1 lists and returns each declared tool once with its schemas", async () => {
    // Given agents that declare tools, when they are listed and read, then each name is there once with its schemas.
    const tools = await client.listAll("/v1/tools", 1);
    assert.deepEqual(
      tools.map(({ id }) => id),
      ["shelf.count", "shelf.find", "tour.today"],
    );
    const { status, body } = await client.get("/v1/tools/shelf.find");
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), [
      "created_at",
      "description",
      "id",
      "input_schema",
      "metadata",
      "name",
      "object",
      "output_schema",
      "updated_at",
    ]);
    assert.deepEqual([body.object, body.description, body.output_schema], ["tool", "Finds a book.", {}]);
    assert.equal(body.input_schema.properties.title.type, "string");
    errorOf(await client.get("/v1/tools/shelf.none"), 404);
    errorOf(await (await client.withScopes("skills:read")).get("/v1/tools"), 403);
  });

  for (const names of [["two words"], ["same", "same"], [""]]) {
    test(`TOL-1 defining an agent with tools named ${JSON.stringify(names)} is rejected`, () => {
      // Given tools called ${JSON.stringify(names)}, when the agent is defined, then it is refused.
      const tools = names.map((name) => ({ name, description: "d" }));
      assert.throws(
        () => defineAgent({ name: "a", version: "1", tools, run: async () => undefined }),
        TypeError,
      );
    });
  }
});

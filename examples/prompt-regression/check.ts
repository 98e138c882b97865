/**
 * What a new prompt changes. Recorded runs repeat with the code that made them; with the new prompt they are found to ask something
 * else; and on a server that has both versions, the new one is tried on the tasks of the old one: only the model is asked anew,
 * everything else comes from the log. Exits with 1 when something is wrong.
 *
 *   node examples/prompt-regression/check.ts
 */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "bridle";
import { replayFixture } from "bridle/testing";
import { summarize, summarizeBriefly } from "./agents/summarize.ts";
import { lookups } from "./customers.ts";
import { models } from "./model.ts";
import { type Ticket, tickets } from "./tickets.ts";

const charsMax = 120;

for (const { name } of tickets) {
  const fixture = new URL(`fixtures/${name}.jsonl`, import.meta.url);
  await replayFixture(summarize, fixture);
  await assert.rejects(replayFixture(summarizeBriefly, fixture), /llm:summary:1 with the input sha256:/);
}
assert.equal(lookups.count, 0, "nobody was asked");
console.log(`${tickets.length} recorded runs repeat with ${summarize.version}, without a model.`);
console.log(`${summarizeBriefly.version} asks something else, which is found in each of them.\n`);

/** What is read of the server's answers. */
interface Resource {
  id: string;
  status: string;
  failure: { message: string } | null;
  assigned_agent_id: string;
  outcome_id: string;
  summary: string;
}

const data = await mkdtemp(join(tmpdir(), "bridle-example-"));
const server = await startServer({
  agents: [summarize],
  agentsMayChange: true,
  models,
  port: 0,
  dataDirectory: data,
  apiKey: "example-key-for-this-machine",
});

async function api(path: string, body?: object): Promise<Resource> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: "Bearer example-key-for-this-machine",
      "harn-agents-protocol-version": "agents-protocol-2026-04-25",
      "content-type": "application/json",
      prefer: "wait=60",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, await response.clone().text());
  return (await response.json()) as Resource;
}

/** What a task that has ended came to. */
async function answerOf(task: Resource): Promise<string> {
  assert.equal(task.status, "COMPLETED", JSON.stringify(task.failure));
  return (await api(`/v1/outcomes/${task.outcome_id}`)).summary;
}

function show({ name, facts }: Ticket, version: string, answer: string): void {
  const found = facts.filter((fact) => fact.test(answer)).length;
  const told = `${found}/${facts.length} facts, ${String(answer.length).padStart(3)} chars`;
  console.log(`${name.padEnd(8)} ${version}  ${told}  ${answer}`);
}

try {
  const { id: session_id } = await api("/v1/sessions", { workspace_id: "workspace_default" });
  const before = new Map<Ticket, Resource>();
  for (const ticket of tickets) {
    const submitted = { session_id, persona_id: "persona_summarize", input: { text: ticket.text } };
    before.set(ticket, await api("/v1/tasks", submitted));
  }
  assert.equal(lookups.count, tickets.length);

  await server.replaceAgents([summarize, summarizeBriefly]);
  for (const [ticket, task] of before) {
    const replay = await api(`/v1/tasks/${task.id}/replay`, {
      mode: "with_overrides",
      metadata: { agent_version: summarizeBriefly.version, allow_live: ["llm"] },
    });
    const [old, brief] = [await answerOf(task), await answerOf(replay)];
    show(ticket, summarize.version, old);
    show(ticket, summarizeBriefly.version, brief);
    assert.equal(replay.assigned_agent_id, "summarize@1.1.0");
    assert.notEqual(brief, old);
    assert.ok(
      brief.length <= charsMax,
      `${ticket.name}: at most ${charsMax} characters, found ${brief.length}`,
    );
    for (const fact of ticket.facts)
      assert.match(brief, fact, `${ticket.name}: the summary leaves out ${fact}`);
  }
  assert.equal(lookups.count, tickets.length, "the customers come from the log");
} finally {
  await server.stop(1000);
  await rm(data, { recursive: true, force: true });
}

/**
 * An agent with two durable steps, a question and an approval, on a server of its own. The program plays the person,
 * checks what came of it, and exits with 1 when it is wrong.
 *
 *   node examples/release-notes/main.ts
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineAgent, startServer, Type } from "../../src/index.ts";

const releaser = defineAgent({
  name: "releaser",
  version: "1.0.0",
  description: "Collects changes, asks for a name, and publishes once somebody has approved.",
  skills: [{ id: "release", description: "Publish a release", input: Type.Object({ since: Type.String() }) }],
  async run(ctx) {
    const changes = await ctx.step("collect", () => ["store: group commit", "runtime: parking"]);
    await ctx.say(`${changes.length} changes since ${ctx.input.since}.`);
    const { name } = await ctx.ask("What is this release called?", Type.Object({ name: Type.String() }));
    await ctx.approve({ action: `publish ${name}`, payload: { changes }, risk: "high" });
    const link = await ctx.step("publish", () => `https://example.test/releases/${name}`);
    await ctx.artifact({ name: "notes.md", text: changes.map((change) => `- ${change}`).join("\n") });
    return `Published ${name}: ${link}`;
  },
});

const data = mkdtempSync(join(tmpdir(), "bridle-example-"));
const server = await startServer({ agents: [releaser], port: 0, dataDirectory: data, apiKey: "example-key" });

/** What the example reads of the server's answers. */
interface Resource {
  id: string;
  status: string;
  outcome_id: string;
  summary: string;
  waiting_for: { permission_request_id: string } | null;
}

async function api(path: string, body?: object): Promise<Resource> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: "Bearer example-key",
      "harn-agents-protocol-version": "agents-protocol-2026-04-25",
      "content-type": "application/json",
      prefer: "wait=10",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.ok(response.ok, await response.clone().text());
  return (await response.json()) as Resource;
}

async function untilTask(id: string, status: string): Promise<Resource> {
  for (let tries = 0; tries < 500; tries++) {
    const task = await api(`/v1/tasks/${id}`);
    if (task.status === status) return task;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`Task ${id} never became ${status}`);
}

try {
  const session = await api("/v1/sessions", { workspace_id: "workspace_default" });
  const asked = await api("/v1/tasks", {
    session_id: session.id,
    persona_id: "persona_releaser",
    input: { since: "v0.1.0" },
  });
  assert.equal(asked.status, "INPUT_REQUIRED");

  const answer = { role: "user", parts: [{ type: "json", value: { name: "v0.2.0" }, visibility: "public" }] };
  await api(`/v1/tasks/${asked.id}/messages`, { kind: "input", message: answer });
  const waiting = await untilTask(asked.id, "AUTH_REQUIRED");

  const requestId = waiting.waiting_for?.permission_request_id;
  await api(`/v1/permission-requests/${requestId}/respond`, { approved: true });
  const done = await untilTask(asked.id, "COMPLETED");

  const { summary } = await api(`/v1/outcomes/${done.outcome_id}`);
  assert.equal(summary, "Published v0.2.0: https://example.test/releases/v0.2.0");
  console.log(summary);
} finally {
  await server.stop(1000);
  rmSync(data, { recursive: true, force: true });
}

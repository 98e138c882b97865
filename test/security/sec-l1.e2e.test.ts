/** SEC-L1: what stands for hidden content is of no use to somebody who guesses it. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { Client, type Json, userMessage } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
let admin: Client;
let outsider: Client;
before(async () => {
  server = await startServer();
  admin = new Client(server);
  const kinds = ["sessions", "tasks", "messages", "memories", "events"];
  outsider = await admin.withScopes(
    ...kinds.map((kind) => `${kind}:read`),
    "messages:write",
    "memories:write",
  );
});
after(() => server[Symbol.asyncDispose]());

function plainHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

async function hiddenPart(sessionId: string, pin: string, by = admin): Promise<Json> {
  const message = userMessage(pin, "internal");
  const { body } = await by.post(`/v1/sessions/${sessionId}/messages`, { message });
  return (await outsider.get(`/v1/messages/${body.id}`)).body.parts[0];
}

test("SEC-L1 the hash of a hidden PIN is none of the 10,000 that somebody could compute", async () => {
  const { id } = await admin.createSession();
  const part = await hiddenPart(id, "4711");
  assert.equal(part.redacted, true);
  assert.match(part.sha256, /^[0-9a-f]{64}$/);
  for (let pin = 0; pin < 10_000; pin++) {
    const text = String(pin).padStart(4, "0");
    assert.notEqual(part.sha256, plainHash({ type: "text", text, visibility: "internal" }));
    assert.notEqual(part.sha256, plainHash(text));
  }
});

test("SEC-L1 a hidden part has one hash wherever it is read, and a guess that is written another", async () => {
  const { id } = await admin.createSession();
  const part = await hiddenPart(id, "4711");
  const guessed = await hiddenPart(id, "4711", outsider);
  assert.notEqual(guessed.sha256, part.sha256);
  const [listed] = await outsider.listAll(`/v1/sessions/${id}/messages`);
  assert.equal(listed?.parts[0].sha256, part.sha256);
  const events = await outsider.listAll(`/v1/sessions/${id}/events`);
  const said = events.find(({ event }) => event === "user.message");
  assert.equal(said?.payload.message.parts[0].sha256, part.sha256);
});

test("SEC-L1 a memory that is replaced by a guess does not show whether the guess is right", async () => {
  const memory = await admin.createMemory({ key: "pin", content: { pin: "4711" }, visibility: "internal" });
  const before = (await outsider.get(`/v1/memories/${memory.id}`)).body.content;
  assert.equal(before.redacted, true);
  assert.notEqual(before.sha256, plainHash({ pin: "4711" }));
  assert.deepEqual((await outsider.get(`/v1/memories/${memory.id}`)).body.content, before);
  await outsider.call(`/v1/memories/${memory.id}`, { method: "DELETE" });
  const guess = await outsider.createMemory({ key: "pin", content: { pin: "4711" }, visibility: "internal" });
  assert.equal(guess.id, memory.id);
  assert.notEqual(guess.content.sha256, before.sha256);
});

test("SEC-L1 results of steps are keyed too, and so is what was erased", async () => {
  const { id } = await admin.createSession();
  const task = await admin.rehearse(id, "step 4711", "return 4711");
  const resultOf = async (by: Client): Promise<Json> => {
    const events = await by.listAll(`/v1/tasks/${task.id}/events`);
    return events.find(({ event }) => event === "span.completed")?.payload.result.output;
  };
  const content = await resultOf(admin);
  const hidden = await resultOf(outsider);
  assert.equal(hidden.redacted, true);
  assert.notEqual(hidden.sha256, plainHash(content));
  const erased = await admin.post(`/v1/sessions/${id}/erase`, { reason: "test" });
  assert.equal(erased.status, 200, JSON.stringify(erased.body));
  // Receipts know erased content by its plain hash, so those who could have read it still see that.
  assert.equal((await resultOf(admin)).sha256, plainHash(content));
  const kept = await resultOf(outsider);
  assert.equal(kept.redacted, true);
  assert.notEqual(kept.sha256, plainHash(content));
});

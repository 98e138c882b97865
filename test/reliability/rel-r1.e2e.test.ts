/** Memories can be replaced, deleted and erased however often: the search index gives its own rows ids above 2^53. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, isFinal } from "../support/client.ts";
import { startServer } from "../support/server.ts";

test("REL-R1 memory writes, deletes and erasure go on after the search index has merged", async () => {
  await using server = await startServer();
  const client = new Client(server);
  const session = await client.createSession();
  // The 18th write over two keys was the first that failed.
  const lines = Array.from({ length: 40 }, (_, n) => `memory write key${n % 2} value${n}`);
  const task = await client.rehearse(session.id, ...lines, "return done");
  const { status } = await client.untilTask(task.id, isFinal);
  assert.equal(status, "COMPLETED");

  const memories = [];
  for (let n = 0; n < 40; n++) {
    const content = { said: `remembered ${n}` };
    memories.push(await client.createMemory({ scope: "session", owner_id: session.id, content }));
  }
  for (const { id } of memories.slice(0, 10)) {
    assert.equal((await client.call(`/v1/memories/${id}`, { method: "DELETE" })).status, 204);
  }
  assert.equal((await client.listAll("/v1/memories?q=remembered")).length, 30);

  const erased = await client.post(`/v1/sessions/${session.id}/erase`, { reason: "asked for" });
  assert.equal(erased.status, 200, JSON.stringify(erased.body));
  assert.notEqual(erased.body.erasure.erased_at, null);
});

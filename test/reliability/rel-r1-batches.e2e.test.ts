/** A commit that fails for reasons of its own takes nothing with it, is reported as what it is, and is not retried for ever. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { Client, errorOf, isFinal } from "../support/client.ts";
import { startServer, type TestServer } from "../support/server.ts";

describe("a batch that cannot be written", () => {
  let server: TestServer;
  let client: Client;

  before(async () => {
    server = await startServer();
    client = new Client(server);
    using db = new DatabaseSync(join(server.data, "bridle.db"));
    db.exec(
      `CREATE TRIGGER poison BEFORE INSERT ON log WHEN NEW.events LIKE '%"memory",%'
       BEGIN SELECT RAISE(ABORT, 'poisoned row'); END`,
    );
  });
  after(() => server[Symbol.asyncDispose]());

  test("REL-R1 a failed batch is an internal error of its request alone, and logged once", async () => {
    const memory = {
      scope: "workspace",
      owner_id: "workspace_default",
      content: "c",
      provenance: { actor: "test" },
    };
    const [failed, ...others] = await Promise.all([
      client.post("/v1/memories", memory),
      ...Array.from({ length: 10 }, () => client.createSession()),
    ]);
    const { code, request_id } = errorOf(failed, 500);
    assert.equal(code, "internal_error");
    assert.equal(others.length, 10);
    const lines = server
      .output()
      .split("\n")
      .filter((line) => line.includes("poisoned row"));
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(String(lines[0]), new RegExp(request_id));
    assert.equal((await client.get("/ready")).status, 200);
  });

  test("REL-R1 a task whose records cannot be written fails after a bounded number of tries", async () => {
    const session = await client.createSession();
    const { id } = await client.rehearse(session.id, "memory write key value");
    const task = await client.untilTask(id, isFinal);
    assert.equal(task.status, "FAILED");
    const why = await client.get(`/v1/tasks/${id}/why`);
    assert.match(why.body.sentence, /failed with internal_error: What the run did cannot be written/);
    const lines = server
      .output()
      .split("\n")
      .filter((line) => line.includes(id) && line.includes("poisoned row"));
    assert.equal(lines.length, 2, lines.join("\n"));
  });
});

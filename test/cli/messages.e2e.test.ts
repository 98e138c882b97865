/** What the commands say when something is in the way, and what they clean up. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { bridle } from "../support/cli.ts";
import { Client, isFinal } from "../support/client.ts";
import { startServer, type TestServer, temporaryDirectory } from "../support/server.ts";

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server[Symbol.asyncDispose]());

test("MSG-1 a file that is not there or cannot be read is named in a sentence", async () => {
  const missing = await bridle(["receipt", "verify", "/nowhere/receipt.json"], { server });
  assert.deepEqual(
    [missing.code, missing.stderr],
    [1, "bridle: /nowhere/receipt.json: there is no such file or directory.\n"],
  );
});

test("MSG-2 bridle help knows commands in commands, and refuses unknown ones", async () => {
  const nested = await bridle(["help", "task", "logs"]);
  assert.match(nested.stdout, /^Usage: bridle task(?:\|tasks)? logs /);
  const unknown = await bridle(["help", "task", "lgos"]);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /unknown command 'task lgos'.*logs/);
});

test("MSG-3 replay takes last for the task submitted last", async () => {
  const client = new Client(server);
  const session = await client.createSession();
  const task = await client.submit(session.id, "return done", { persona_id: "persona_rehearsal" });
  await client.untilTask(task.id, isFinal);
  const { code, stdout, stderr } = await bridle(["replay", "last", "--json"], { server });
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).source_task_id, task.id);
});

test("MSG-4 a clean stop removes server.pid", async () => {
  await using place = await temporaryDirectory();
  const own = await startServer({ data: place.path });
  assert.ok(existsSync(join(place.path, "server.pid")));
  await own.stop();
  assert.equal(existsSync(join(place.path, "server.pid")), false);
});

test("MSG-5 HEAD answers as GET does, and /healthz and /readyz are there", async () => {
  const headers = new Client(server).headers();
  for (const path of ["/ready", "/readyz", "/healthz", "/openapi.json", "/v1", "/v1/tasks"]) {
    const [got, head] = await Promise.all(
      ["GET", "HEAD"].map((method) => fetch(`${server.url}${path}`, { method, headers })),
    );
    assert.deepEqual([got?.status, head?.status], [200, 200], path);
    assert.equal(await head?.text(), "");
  }
});

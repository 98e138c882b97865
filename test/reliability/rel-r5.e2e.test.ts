/** REL-R5: a server whose disk takes no writes says so, says why, and recovers by itself. */

import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, errorOf, isFinal, until } from "../support/client.ts";
import { Exposition } from "../support/exposition.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

const inWorkspace = { workspace_id: "workspace_default" };
const refused = "Cannot write to the database (disk full). The request was not applied.";

test("REL-R5 a full disk makes the server unready, with the reason, until writes succeed again", async () => {
  await using directory = await temporaryDirectory();
  const full = join(directory.path, "full");
  await using server = await startProcess({
    env: { BRIDLE_FAIL_POINT: `commit.begun:ENOSPC:${full}`, BRIDLE_METRICS: "open" },
  });
  const client = new Client(server);
  const session = await client.createSession();
  assert.deepEqual(await healthOf(client), { status: 200, ready: 1, writable: 1 });

  await writeFile(full, "");
  assert.equal(errorOf(await client.post("/v1/sessions", inWorkspace), 503).message, refused);
  const { status, body } = await client.get("/ready");
  assert.equal(status, 503);
  assert.deepEqual([body.ok, body.status, body.reason], [false, "store_unavailable", "disk full"]);
  assert.deepEqual(await healthOf(client), { status: 503, ready: 0, writable: 0 });
  for (let request = 0; request < 5; request++) {
    const answer = await client.post("/v1/sessions", inWorkspace);
    assert.equal(answer.headers.get("retry-after"), "5");
    const error = errorOf(answer, 503);
    assert.deepEqual(
      [error.code, error.message, error.details],
      ["service_unavailable", refused, { reason: "disk full" }],
    );
  }
  assert.equal((await client.get(`/v1/sessions/${session.id}`)).status, 200, "reads are answered");

  await rm(full);
  await until(
    () => client.get("/ready"),
    (answer) => answer.status === 200,
  );
  assert.deepEqual(await healthOf(client), { status: 200, ready: 1, writable: 1 });
  await client.createSession();
  const lines = linesOf(server, "store.write_failed");
  assert.equal(lines.length, 1, "one line a minute, however many requests are refused");
  assert.deepEqual([lines[0]?.store, lines[0]?.reason], ["log", "disk full"]);
  assert.equal(linesOf(server, "store.write_recovered").length, 1);
});

test("REL-R5 a read-only file system and an I/O error are named", async () => {
  for (const [code, reason] of [
    ["EROFS", "read-only file system"],
    ["EIO", "I/O error"],
  ]) {
    await using directory = await temporaryDirectory();
    const broken = join(directory.path, "broken");
    await using server = await startProcess({ env: { BRIDLE_FAIL_POINT: `commit.begun:${code}:${broken}` } });
    const client = new Client(server);
    await writeFile(broken, "");
    await client.post("/v1/sessions", inWorkspace);
    assert.equal((await client.get("/ready")).body.reason, reason);
  }
});

test("REL-R13 on a full disk the write of a step's result is repeated, never its code, and no step begins", async () => {
  await using directory = await temporaryDirectory();
  const full = join(directory.path, "full");
  await using server = await startProcess({
    script: fileURLToPath(new URL("../support/slow-agent-server.ts", import.meta.url)),
    env: { BRIDLE_FAIL_POINT: `commit.begun:ENOSPC:${full}` },
  });
  const client = new Client(server);
  const session = await client.createSession();
  const task = await client.submit(session.id, directory.path, { persona_id: "persona_slow" });
  const attempts = () => readFile(join(directory.path, "attempts"), "utf8").catch(() => "");
  await until(attempts, (text) => text !== "");

  await writeFile(full, "");
  await writeFile(join(directory.path, "release"), "");
  // The step's result was refused.
  await until(
    () => client.get("/ready"),
    (answer) => answer.status === 503,
  );
  assert.equal(await attempts(), "first\n");
  assert.equal((await client.get(`/v1/tasks/${task.id}`)).body.status, "WORKING");

  await rm(full);
  const { status } = await client.untilTask(task.id, isFinal);
  assert.equal(status, "COMPLETED");
  assert.equal(await attempts(), "first\nsecond\n", "each ran once");
  assert.deepEqual(linesOf(server, "run.not_recorded"), []);
});

async function healthOf(client: Client): Promise<{ status: number; ready: number; writable: number }> {
  const { status } = await client.get("/ready");
  const found = new Exposition(await (await fetch(`${client.url}/metrics`)).text());
  return {
    status,
    ready: found.sum("bridle_ready"),
    writable: found.sum("bridle_store_writable", { store: "log" }),
  };
}

function linesOf(server: TestProcess, event: string): Record<string, unknown>[] {
  return server
    .output()
    .split("\n")
    .filter((line) => line.includes(`"event":"${event}"`))
    .map((line) => JSON.parse(line));
}

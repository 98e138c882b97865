/** Receipts are issued behind the end of their task: a process that dies in between delays them, and loses and doubles nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isThorough } from "./runner/seed.ts";
import { Client, isFinal, type Json, until, userMessage } from "./support/client.ts";
import { startProcess, temporaryDirectory } from "./support/server.ts";

/** The first commits of a server that is given work: of the task and, behind them, of its receipt. */
const commits = isThorough ? [1, 2, 3, 4, 5] : [2, 3, 4];
const points = ["commit.begun", "commit.durable"].flatMap((name) =>
  commits.map((visit) => `${name}:${visit}`),
);

test("RCP-12 a server killed at every commit around the end of a task issues each receipt once", async () => {
  // Given a server that is killed at every one of the commits that end a task and issue its receipt, when it is started again, then
  // every ended task has one receipt that verifies, in one chain.
  await using directory = await temporaryDirectory();
  await (await startProcess({ data: directory.path })).stop();
  let begun = 0;
  for (const point of points) {
    // Where the one before left a receipt due, it may be at its start that this one dies.
    const env = { BRIDLE_FAIL_POINT: point };
    const own = await startProcess({ data: directory.path, env }).catch(() => null);
    if (own === null) continue;
    begun += 1;
    const client = new Client(own);
    const input = userMessage(`hello ${point}`);
    const begin = async () => {
      const session = await client.createSession();
      await client.post("/v1/tasks", { session_id: session.id, input });
      await client.post("/v1/tasks", { session_id: session.id, input });
    };
    await begin().catch(() => {});
    await until(
      async () => own.process.signalCode,
      (signal) => signal === "SIGKILL",
    );
  }

  await using server = await startProcess({ data: directory.path });
  const client = new Client(server);
  const tasks = await client.listAll("/v1/tasks");
  assert.ok(begun > points.length / 2, `${begun} servers were given work`);
  assert.ok(tasks.length >= commits.length, `${tasks.length} tasks were begun`);
  for (const { id } of tasks) {
    const task = await client.untilTask(id, isFinal);
    await client.settled(task);
    const receipts = await client.listAll(`/v1/tasks/${id}/receipts`);
    assert.deepEqual(
      receipts.map(({ receipt_id }) => receipt_id),
      [task.receipt_id],
    );
    assert.equal((await client.post(`/v1/receipts/${task.receipt_id}/verify`)).body.valid, true);
  }
  const all: Json[] = await client.listAll("/v1/receipts?workspace_id=workspace_default");
  const hashes = all.map(({ chain }) => chain.receipt_hash);
  assert.deepEqual(
    all.map(({ chain }) => chain.previous_receipt_hash),
    [...hashes.slice(1), null],
  );
});

/** SEC-M9: below a floor of free disk space nothing is added, and what frees space or ends work still goes through. */

import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { diskFloor } from "../../src/cli/settings/option-parsers.ts";
import { FreeSpace, spaceAt } from "../../src/store/sqlite/free-space.ts";
import { bridle } from "../support/cli.ts";
import { Client, errorOf, type Json, until, userMessage } from "../support/client.ts";
import { startProcess, temporaryDirectory } from "../support/server.ts";

test("SEC-M9 below the disk floor data is refused; deleting, canceling and results go through", async () => {
  await using directory = await temporaryDirectory();
  const low = join(directory.path, "low");
  await using server = await startProcess({ env: { BRIDLE_FAIL_POINT: `disk.free:ENOSPC:${low}` } });
  const client = new Client(server);
  const session = await client.createSession();
  const [task, waiting]: Json[] = await Promise.all(
    ["ask Which?", "ask Really?"].map((line) => client.rehearse(session.id, line, "return done")),
  );
  const sleeping = await client.submit(session.id, "sleep 1500\nreturn slept", {
    persona_id: "persona_rehearsal",
  });
  const memory = await client.createMemory({ content: "Tea, not coffee." });

  await writeFile(low, "");
  const ready = await until(
    () => client.get("/ready"),
    ({ status }) => status === 503,
  );
  assert.deepEqual([ready.body.status, ready.body.reason], ["disk_low", "disk almost full"]);
  for (const [path, body] of [
    ["/v1/sessions", { workspace_id: "workspace_default" }],
    ["/v1/tasks", { session_id: session.id, input: userMessage("more") }],
    [`/v1/tasks/${task.id}/messages`, { kind: "input", message: userMessage("this") }],
    ["/v1/artifacts/upload?workspace_id=workspace_default", {}],
  ] as const) {
    const answer = await client.post(path, body);
    assert.equal(answer.headers.get("retry-after"), "5", path);
    const error = errorOf(answer, 503);
    assert.equal(error.code, "service_unavailable");
    assert.match(error.message, /^The disk is almost full \(0 MiB free, \d+ MiB required\)/);
  }
  assert.equal((await client.post(`/v1/tasks/${waiting.id}/cancel`)).status, 200);
  assert.equal((await client.call(`/v1/memories/${memory.id}`, { method: "DELETE" })).status, 204);
  const ended = await client.untilTask(sleeping.id, ({ status }) => status === "COMPLETED");
  assert.equal(ended.status, "COMPLETED", "work under way is recorded");

  await rm(low);
  await until(
    () => client.get("/ready"),
    ({ status }) => status === 200,
  );
  await client.answer(task.id, "this");
  await client.untilTask(task.id, ({ status }) => status === "COMPLETED");
});

test("SEC-M9 the floor is a size or a share of the disk, and bridle doctor shows it", async () => {
  await using directory = await temporaryDirectory();
  const { freeBytes } = spaceAt(directory.path, diskFloor("0"));
  assert.equal(new FreeSpace(directory.path, diskFloor("0")).shortage(), null);
  assert.ok(freeBytes > 0);
  const most = new FreeSpace(directory.path, diskFloor("8000TB")).shortage();
  assert.ok(most !== null && most.floorBytes > most.freeBytes);
  assert.deepEqual(diskFloor("1.5GB"), { bytes: 1.5 * 2 ** 30, share: 1 });
  assert.deepEqual(diskFloor("5%"), { bytes: Number.POSITIVE_INFINITY, share: 0.05 });
  for (const wrong of ["", "much", "100%", "-1", "5 apples"]) assert.throws(() => diskFloor(wrong));

  const { stdout } = await bridle(["doctor", "--json", "--data", directory.path, "--disk-floor", "8000TB"]);
  const disk = JSON.parse(stdout).find(({ check }: Json) => check === "disk");
  assert.equal(disk.status, "problem");
  assert.match(disk.message, /MiB are free; below [\d,]+ MiB nothing is added \(--disk-floor\)/);
});

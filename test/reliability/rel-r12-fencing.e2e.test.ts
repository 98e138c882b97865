/** Two servers never write to one data directory, whatever happened to its lock files. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { StoreUnavailable } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { Client, errorOf } from "../support/client.ts";
import { startProcess, startServer, temporaryDirectory } from "../support/server.ts";

const takenOver = "another server has taken over this data directory";

const empty = { expect: [], events: [], put: [], blobs: [] };

test("REL-R12 a second store fences the first one's writes although the lock file was deleted", async () => {
  await using directory = await temporaryDirectory();
  const reasons: string[] = [];
  const first = await openSqliteStore(directory.path, { stopped: (reason) => reasons.push(reason) });
  await first.commit(empty);
  rmSync(join(directory.path, "lock.db"));
  const second = await openSqliteStore(directory.path);
  await assert.rejects(
    first.commit(empty),
    (error) => error instanceof StoreUnavailable && error.fault === takenOver,
  );
  assert.deepEqual(reasons, [takenOver]);
  assert.equal(first.writeFault(), takenOver);
  await second.commit(empty);
  await first.close();
  await second.commit(empty);
  await second.close();
});

test("REL-R12 a server whose data directory was taken over refuses writes and exits with 1", async () => {
  await using first = await startProcess();
  const client = new Client(first);
  await client.createSession();
  for (const folder of ["", "gateway"]) rmSync(join(first.data, folder, "lock.db"));
  const ended = once(first.process, "exit");
  await using second = await startServer({ data: first.data });
  const refused = await client.post("/v1/sessions", { workspace_id: "workspace_default" });
  assert.equal(errorOf(refused, 503).code, "service_unavailable");
  const [exitCode] = await ended;
  assert.equal(exitCode, 1);
  assert.ok(first.output().includes(`bridle: Stopping: ${takenOver}.`), first.output());
  await new Client(second).createSession();
});

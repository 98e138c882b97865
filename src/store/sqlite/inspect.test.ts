import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { inspectStore } from "./inspect.ts";
import { isLocked } from "./lock.ts";
import { openSqliteStore } from "./open.ts";

async function directory(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "bridle-inspect-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test("tells whether a store is in use, and inspecting leaves no trace", async () => {
  // Given a store, when it is open and when it is closed, then it is seen whether it is in use, and looking leaves no
  // trace.
  await using place = await directory();
  assert.equal(isLocked(place.path), false);
  assert.equal(inspectStore(place.path), null);
  const store = await openSqliteStore(place.path);
  assert.equal(isLocked(place.path), true);
  await store.close();
  assert.equal(isLocked(place.path), false);
  const before = await readdir(place.path);
  const found = inspectStore(place.path);
  assert.equal(found?.newestAt, null);
  assert.equal(found?.isChecked, true);
  assert.deepEqual(await readdir(place.path), before);
});

test("inspecting a newer Bridle's store or a file that is no store says so", async () => {
  // Given a store of a newer Bridle, or a file that is none, when it is inspected, then it is said.
  await using place = await directory();
  await (await openSqliteStore(place.path)).close();
  const db = new DatabaseSync(join(place.path, "bridle.db"));
  db.exec("PRAGMA user_version = 9999");
  db.close();
  assert.throws(() => inspectStore(place.path), /schema 9999.*newer one/);
  await writeFile(join(place.path, "bridle.db"), "not a database, by far".repeat(100));
  assert.throws(() => inspectStore(place.path), /not a SQLite database/);
});

/** One store per data directory, and no stale lock. */

import assert from "node:assert/strict";
import { mkdir, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryDirectory } from "../../../test/support/server.ts";
import { DataDirectoryInUse, lockDirectory } from "./lock.ts";
import { openSqliteStore } from "./open.ts";

test("STO-5 locking a locked directory fails, naming the process, the directory and the remedy", async () => {
  // Given a locked directory, when it is locked again, then the refusal names the process, the directory and the way
  // out.
  await using directory = await temporaryDirectory();
  const lock = lockDirectory(directory.path);
  try {
    assert.throws(
      () => lockDirectory(directory.path),
      (error: unknown) =>
        error instanceof DataDirectoryInUse &&
        error.message.includes(`process ${process.pid}`) &&
        error.message.includes(directory.path) &&
        error.message.includes("--data"),
    );
  } finally {
    lock.release();
  }
});

test("STO-5 a released directory can be locked again, and two directories are independent", async () => {
  // Given a released lock, when the directory is locked again, then it succeeds, and two directories never disturb each
  // other.
  await using directory = await temporaryDirectory();
  await using other = await temporaryDirectory();
  lockDirectory(directory.path).release();
  const locks = [lockDirectory(directory.path), lockDirectory(other.path)];
  for (const lock of locks) lock.release();
});

test("STO-5 rejects a second store on an open directory until the first is closed", async () => {
  // Given an open store, when another is opened on its directory, then it is refused, the first goes on, and closing it
  // makes room.
  await using directory = await temporaryDirectory();
  const first = await openSqliteStore(directory.path);
  await assert.rejects(openSqliteStore(directory.path), DataDirectoryInUse);
  assert.equal(await first.head(), 0);
  await first.close();
  const second = await openSqliteStore(directory.path);
  assert.equal(await second.head(), 0);
  await second.close();
});

test("STO-5 releases the lock if the database cannot be opened", async () => {
  // Given a directory whose database cannot be opened, when opening fails, then the lock is free again.
  await using directory = await temporaryDirectory();
  const file = join(directory.path, "bridle.db");
  await mkdir(file);
  await assert.rejects(openSqliteStore(directory.path), (error) => !(error instanceof DataDirectoryInUse));
  await rmdir(file);
  const store = await openSqliteStore(directory.path);
  await store.close();
  assert.ok((await stat(file)).isFile());
});

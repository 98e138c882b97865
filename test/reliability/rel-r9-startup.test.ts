/** A server that cannot use its data directory says in one sentence which file, what is wrong, and what to do. */

import assert from "node:assert/strict";
import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { bridle, errorLine } from "../support/cli.ts";
import { temporaryDirectory } from "../support/server.ts";

function execute(directory: string, sql: string): void {
  using db = new DatabaseSync(join(directory, "bridle.db"));
  db.exec(sql);
}

const cases: { name: string; spoil(directory: string): void; says: RegExp }[] = [
  {
    name: "a file that is no database",
    spoil: (directory) => {
      // A write-ahead log would bring back the pages.
      rmSync(join(directory, "bridle.db-wal"), { force: true });
      writeFileSync(join(directory, "bridle.db"), "no database ".repeat(1000));
    },
    says: /bridle\.db is not a SQLite database\. Restore it from a backup/,
  },
  {
    name: "a missing table",
    spoil: (directory) => execute(directory, "DROP TABLE once"),
    says: /bridle\.db is damaged \(it has no table once\)\. Restore it from a backup, or salvage/,
  },
  {
    name: "a newer schema",
    spoil: (directory) => execute(directory, "PRAGMA user_version = 999"),
    says: /bridle\.db has schema 999, this Bridle knows up to \d+\. Start the version of Bridle/,
  },
  {
    name: "a path that cannot be opened",
    spoil: (directory) => {
      rmSync(join(directory, "bridle.db"));
      mkdirSync(join(directory, "bridle.db"));
    },
    says: /Cannot open .*bridle\.db \(EISDIR\)\. It must be a file/,
  },
  {
    name: "a missing database beside its signing key",
    spoil: (directory) => {
      rmSync(join(directory, "bridle.db"));
      writeFileSync(join(directory, "signing.key"), "key");
    },
    says: /bridle\.db is missing, but .*signing\.key is there\. Restore it from a backup; to start/,
  },
  {
    name: "an empty database beside its blobs",
    spoil: (directory) => {
      truncateSync(join(directory, "bridle.db"), 0);
      rmSync(join(directory, "bridle.db-wal"), { force: true });
      mkdirSync(join(directory, "blobs", "ab"), { recursive: true });
    },
    says: /bridle\.db is empty, but .*blobs is there\. Restore it from a backup/,
  },
  {
    name: "a lock file that is no database",
    spoil: (directory) => writeFileSync(join(directory, "lock.db"), "no database ".repeat(1000)),
    says: /lock\.db cannot be locked \(.*\)\. It holds no data: delete it\./,
  },
];

describe("opening a data directory that cannot be used", () => {
  for (const { name, spoil, says } of cases) {
    test(`REL-R9 ${name} is refused in one sentence`, async () => {
      await using directory = await temporaryDirectory();
      await (await openSqliteStore(directory.path)).close();
      spoil(directory.path);
      await assert.rejects(openSqliteStore(directory.path), (error: Error) => {
        assert.match(error.message, says);
        assert.ok(!error.message.includes("\n"));
        return true;
      });
    });
  }

  test("REL-R9 the command prints the sentence and exits with 1", async () => {
    await using directory = await temporaryDirectory();
    writeFileSync(join(directory.path, "bridle.db"), "no database ".repeat(1000));
    const ended = await bridle(["serve", "--port", "0", "--data", directory.path]);
    assert.match(errorLine(ended, 1), /^bridle: .*bridle\.db is not a SQLite database\./);
  });
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { writeFaultOf } from "./write-fault.ts";

test("REL-R5 errors of SQLite about the disk are named; those of one statement are not", () => {
  const directory = mkdtempSync(join(tmpdir(), "bridle-test-"));
  const file = join(directory, "some.db");
  try {
    using db = new DatabaseSync(file);
    db.exec("CREATE TABLE t (x TEXT UNIQUE); INSERT INTO t VALUES ('1')");
    const faultOf = (of: DatabaseSync, sql: string) => {
      try {
        of.exec(sql);
      } catch (error) {
        return writeFaultOf(error, file);
      }
      throw new Error(`${sql} did not fail`);
    };
    assert.equal(faultOf(db, "INSERT INTO t VALUES ('1')"), null);
    db.exec("PRAGMA max_page_count = 3");
    assert.equal(faultOf(db, "INSERT INTO t VALUES (randomblob(100000))"), "disk full");
    using reader = new DatabaseSync(file, { readOnly: true });
    assert.equal(faultOf(reader, "INSERT INTO t VALUES ('2')"), "database is read-only");
    using rival = new DatabaseSync(file);
    rival.exec("BEGIN EXCLUSIVE");
    assert.equal(faultOf(db, "INSERT INTO t VALUES ('3')"), "database locked by another process");
  } finally {
    rmSync(directory, { recursive: true });
  }
});

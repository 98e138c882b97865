/**
 * The tables of the SQLite store, as numbered migrations that only go forward. Run at start by the writer.
 *
 * events     one row a fact, in log order; the payload is JSON
 * documents  the fold of a resource's events: JSON and the few columns it is found by
 * blobs      content under its SHA-256
 * once       idempotency records
 */

import type { DatabaseSync } from "node:sqlite";

const migrations: readonly string[] = [
  `
  CREATE TABLE events (
    position     INTEGER PRIMARY KEY,
    event        TEXT NOT NULL,
    object       TEXT NOT NULL,
    resource_id  TEXT NOT NULL,
    sequence     INTEGER NOT NULL,
    previous     INTEGER,
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT,
    session_id   TEXT,
    task_id      TEXT,
    actor        TEXT,
    created_at   TEXT NOT NULL,
    payload      TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_tenant  ON events (tenant_id, position);
  CREATE INDEX events_by_session ON events (session_id, position) WHERE session_id IS NOT NULL;
  CREATE INDEX events_by_task    ON events (task_id, position)    WHERE task_id IS NOT NULL;

  CREATE TABLE documents (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    tenant_id    TEXT NOT NULL,
    version      INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    last_event   INTEGER,
    born         INTEGER NOT NULL,
    workspace_id TEXT,
    session_id   TEXT,
    task_id      TEXT,
    status       TEXT,
    wake_at      INTEGER,
    body         TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX documents_by_tenant    ON documents (kind, tenant_id, born);
  CREATE INDEX documents_by_workspace ON documents (kind, workspace_id, born) WHERE workspace_id IS NOT NULL;
  CREATE INDEX documents_by_session   ON documents (kind, session_id, born)   WHERE session_id IS NOT NULL;
  CREATE INDEX documents_by_task      ON documents (kind, task_id, born)      WHERE task_id IS NOT NULL;
  CREATE INDEX documents_due          ON documents (kind, wake_at)            WHERE wake_at IS NOT NULL;

  CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    bytes  BLOB NOT NULL
  ) STRICT;

  CREATE TABLE once (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    result      TEXT NOT NULL,
    expires_at  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX once_by_expiry ON once (expires_at);
  `,
];

/** Brings the database to the newest schema. Refuses one that a newer Bridle has written. */
export function migrate(db: DatabaseSync): void {
  const row = db.prepare("PRAGMA user_version").get();
  const current = Number(row?.user_version ?? 0);
  if (current > migrations.length) {
    throw new Error(
      `The database has schema ${current}, this Bridle knows up to ${migrations.length}: start a newer Bridle.`,
    );
  }
  for (let version = current; version < migrations.length; version++) {
    db.exec("BEGIN IMMEDIATE");
    db.exec(migrations[version] ?? "");
    db.exec(`PRAGMA user_version = ${version + 1}`);
    db.exec("COMMIT");
  }
}

/** What every connection needs: durable commits, patience with a checkpoint, a bounded cache. */
export function configure(db: DatabaseSync): void {
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA busy_timeout = 5000");
  db.exec("PRAGMA cache_size = -65536");
  db.exec("PRAGMA temp_store = MEMORY");
}

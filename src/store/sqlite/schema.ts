/**
 * The tables of the SQLite store, as numbered migrations that only go forward. Run when the store is opened.
 *
 * log        the events. Neighbours of one commit that share tenant, workspace, session, task, actor, key and time are one
 *            row: positions first to last, `events` a JSON array of what `compact-entries.ts` makes of each; `numbers`
 *            a JSON array of [sequence, previous], `checksum` in `log-rows.ts`. A row costs what an event would, and a commit has seven of those.
 * documents  the fold of a resource's events: the few columns it is found by and JSON, or where it is in the log (`document-body.ts`)
 * blobs      content under its SHA-256; blob_owners says which tenants have it
 * once       idempotency records
 * writer     one row: the epoch of the process that may write (`epoch.ts`)
 * cursors    how far those who follow the log have come, and the end of a log that has lost it; no event gets a position up to there
 * texts      the words of documents that can be searched for, by the position that the document was born at
 */

import type { DatabaseSync } from "node:sqlite";
import { blobFilesBeside } from "./blob-files.ts";

const migrations: readonly (string | ((db: DatabaseSync) => void))[] = [
  `
  CREATE TABLE log (
    last         INTEGER PRIMARY KEY,
    first        INTEGER NOT NULL,
    tenant_id    TEXT NOT NULL,
    workspace_id TEXT,
    session_id   TEXT,
    task_id      TEXT,
    actor        TEXT,
    created_at   TEXT NOT NULL,
    events       TEXT NOT NULL,
    numbers      TEXT NOT NULL
  ) STRICT;
  CREATE INDEX log_by_tenant  ON log (tenant_id, last);
  CREATE INDEX log_by_session ON log (session_id, last) WHERE session_id IS NOT NULL;
  CREATE INDEX log_by_task    ON log (task_id, last)    WHERE task_id IS NOT NULL;

  CREATE TABLE documents (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    tenant_id    TEXT NOT NULL,
    listed_in    TEXT,
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
  CREATE INDEX documents_by_tenant    ON documents (kind, listed_in, born)    WHERE listed_in IS NOT NULL;
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
    position    INTEGER,
    expires_at  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX once_by_expiry ON once (expires_at);
  `,
  `
  ALTER TABLE documents ADD COLUMN owner_id TEXT;
  CREATE INDEX documents_by_owner ON documents (kind, owner_id, born) WHERE owner_id IS NOT NULL;
  CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61');
  `,
  // The last columns are there so that what a ranked list counts and skips is found in the index alone.
  `
  ALTER TABLE documents ADD COLUMN rank INTEGER;
  ALTER TABLE documents ADD COLUMN label TEXT;
  UPDATE documents SET
    rank = unixepoch(json_extract(body, '$.updated_at')) * 1000,
    label = json_extract(body, '$.agent.name'),
    body = json_set(body, '$.status_at', json_extract(body, '$.updated_at'))
  WHERE kind = 'task';
  CREATE INDEX documents_ranked
    ON documents (kind, listed_in, rank, id, status, label, session_id, workspace_id)
    WHERE rank IS NOT NULL;
  `,
  `
  CREATE TABLE blob_owners (
    sha256    TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    PRIMARY KEY (sha256, tenant_id)
  ) STRICT, WITHOUT ROWID;
  `,
  nameOwners,
  "ALTER TABLE log ADD COLUMN key_id TEXT",
  `
  CREATE TABLE writer (epoch INTEGER NOT NULL) STRICT;
  INSERT INTO writer VALUES (0);
  `,
  "ALTER TABLE log ADD COLUMN checksum INTEGER",
  countBytes,
  // Every filter of a list has an index. A ranked list is read status by status, so that a rare one is found at once.
  `
  DROP INDEX documents_ranked;
  CREATE INDEX documents_ranked ON documents (kind, listed_in, status, rank, id, workspace_id) WHERE rank IS NOT NULL;
  CREATE INDEX documents_labelled ON documents (kind, listed_in, label, status, rank, id, workspace_id)
    WHERE rank IS NOT NULL AND label IS NOT NULL;
  CREATE INDEX log_by_workspace ON log (workspace_id, last) WHERE workspace_id IS NOT NULL;
  `,
  // Up to here, receipts were issued in the commits that they are about.
  `
  CREATE TABLE cursors (
    name     TEXT PRIMARY KEY,
    position INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO cursors SELECT 'receipts', max(last) FROM log HAVING max(last) IS NOT NULL;
  `,
  // From here on, a document may be in the log only (`document-body.ts`), where an older Bridle would not look.
  "",
  // From here on, payloads of events may be differences from a pattern (`compact-entries.ts`), which an older Bridle cannot read.
  "",
];

/** Kept by triggers, so that nothing that writes to the log or to content can forget to count. */
function countBytes(db: DatabaseSync): void {
  db.exec(`
    CREATE TABLE tenant_bytes (
      tenant_id TEXT PRIMARY KEY,
      log       INTEGER NOT NULL DEFAULT 0,
      blobs     INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    INSERT INTO tenant_bytes (tenant_id, log)
      SELECT tenant_id, sum(octet_length(events) + octet_length(numbers)) FROM log GROUP BY tenant_id;
    CREATE TRIGGER log_inserted AFTER INSERT ON log BEGIN
      INSERT INTO tenant_bytes (tenant_id, log)
        VALUES (NEW.tenant_id, octet_length(NEW.events) + octet_length(NEW.numbers))
        ON CONFLICT (tenant_id) DO UPDATE SET log = log + excluded.log;
    END;
    CREATE TRIGGER log_rewritten AFTER UPDATE OF events ON log BEGIN
      UPDATE tenant_bytes SET log = log + octet_length(NEW.events) - octet_length(OLD.events)
        WHERE tenant_id = NEW.tenant_id;
    END;
    CREATE TRIGGER log_deleted AFTER DELETE ON log BEGIN
      UPDATE tenant_bytes SET log = log - octet_length(OLD.events) - octet_length(OLD.numbers)
        WHERE tenant_id = OLD.tenant_id;
    END;
    ALTER TABLE blob_owners ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    CREATE TRIGGER blob_owned AFTER INSERT ON blob_owners BEGIN
      INSERT INTO tenant_bytes (tenant_id, blobs) VALUES (NEW.tenant_id, NEW.bytes)
        ON CONFLICT (tenant_id) DO UPDATE SET blobs = blobs + excluded.blobs;
    END;
    CREATE TRIGGER blob_counted AFTER UPDATE OF bytes ON blob_owners BEGIN
      INSERT INTO tenant_bytes (tenant_id, blobs) VALUES (NEW.tenant_id, NEW.bytes - OLD.bytes)
        ON CONFLICT (tenant_id) DO UPDATE SET blobs = blobs + excluded.blobs;
    END;
    CREATE TRIGGER blob_dropped AFTER DELETE ON blob_owners BEGIN
      UPDATE tenant_bytes SET blobs = blobs - OLD.bytes WHERE tenant_id = OLD.tenant_id;
    END;
    UPDATE blob_owners SET bytes = octet_length(blobs.bytes) FROM blobs WHERE blobs.sha256 = blob_owners.sha256;
  `);
  const beside = db.prepare("UPDATE blob_owners SET bytes = ? WHERE sha256 = ?");
  for (const { sha256, bytes } of blobFilesBeside(db.location())) beside.run(bytes, sha256);
}

/** Content from before is of the tenants whose events and documents speak of it. As text: JSON can be too deep for SQLite. */
function nameOwners(db: DatabaseSync): void {
  const insert = db.prepare("INSERT OR IGNORE INTO blob_owners (sha256, tenant_id) VALUES (?, ?)");
  for (const [table, column] of [
    ["log", "events"],
    ["documents", "body"],
  ]) {
    const rows = db.prepare(`SELECT tenant_id, ${column} AS text FROM ${table}`).iterate();
    for (const { tenant_id, text } of rows) {
      const mentioned = String(text).matchAll(/"(?:blob|sha256)":"([0-9a-f]{64})"/g);
      for (const [, sha256 = ""] of mentioned) insert.run(sha256, String(tenant_id));
    }
  }
}

/** The schema that this Bridle writes. */
const schemaNewest = migrations.length;

/** Brings the database to the newest schema, or to an older one for tests. Refuses one that a newer Bridle has written. */
export function migrate(db: DatabaseSync, newest = schemaNewest): void {
  const due = migrations.slice(knownSchema(db), newest);
  if (due.length === 0) return;
  // All in one transaction: either the database is as new as this Bridle, or it is as it was. And the disk is waited for once.
  db.exec("BEGIN IMMEDIATE");
  for (const migration of due) {
    if (typeof migration === "string") db.exec(migration);
    else migration(db);
  }
  db.exec(`PRAGMA user_version = ${newest}`);
  db.exec("COMMIT");
}

/** The schema of a database. Throws for one of a newer Bridle. */
export function knownSchema(db: DatabaseSync): number {
  const schema = Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (schema <= schemaNewest) return schema;
  throw new Error(
    `${db.location()} has schema ${schema}, this Bridle knows up to ${schemaNewest}. Start the version of Bridle that wrote it, or a newer one.`,
  );
}

/** What every connection needs: durable commits, patience with a checkpoint, a bounded cache. */
export function configure(db: DatabaseSync): void {
  // Has an effect before the first table only. Larger pages mean fewer of them to write for rows of this size.
  db.exec("PRAGMA page_size = 8192");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = FULL");
  db.exec("PRAGMA busy_timeout = 5000");
  // The ends of the log and of its indexes are written again and again: a longer WAL copies them back less often.
  db.exec("PRAGMA wal_autocheckpoint = 4096");
  db.exec("PRAGMA cache_size = -8192");
  db.exec("PRAGMA temp_store = MEMORY");
}

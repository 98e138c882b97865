/**
 * The tables of the PostgreSQL store, as numbered migrations that only go forward.
 *
 * head       one row: the last position of the log. Whoever commits locks it first, so commits are in the order of their positions:
 *            a position that is visible never has one before it that is still to come
 * log        the events, in rows as in SQLite (`log-rows.ts`), in partitions by position
 * documents  the fold of a resource's events: the columns that it is found by, and JSON
 * texts      the words of documents that can be searched for
 * once       idempotency records
 * cursors    how far those who follow the log have come
 * blobs      content under its SHA-256: in the row, or in the parts of an upload; blob_owners says which tenants have it
 * uploads    content on its way: without a hash until it is whole, wanted while the row is there
 * writers    the last group that each open store has committed: what became of a COMMIT that was not answered
 *
 * Text is compared byte by byte, so that the order is that of JavaScript and no update of the system's collations breaks an index.
 * Rows that belong to a tenant are seen by connections that name it; see decision 0074.
 */

const text = `text COLLATE "C"`;

/** Tables whose rows have a tenant. */
const tenantTables = ["log", "documents", "blob_owners", "tenant_bytes"];

function onlyOwnRows(table: string): string {
  return `
    ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
    ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;
    CREATE POLICY own_tenant ON ${table} USING (
      tenant_id = current_setting('bridle.tenant', true) OR current_setting('bridle.tenant', true) = '*'
    );`;
}

/** Kept by triggers, so that nothing that writes to the log or to content can forget to count. */
function counted(table: "log" | "blob_owners", column: "log" | "blobs", size: string): string {
  const count = (on: "INSERT" | "DELETE", rows: string, sign: "" | "-") => `
    CREATE FUNCTION ${table}_${on.toLowerCase()}_counted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO tenant_bytes AS counted (tenant_id, ${column})
        SELECT tenant_id, ${sign}sum(${size}) FROM changed GROUP BY tenant_id ORDER BY tenant_id
        ON CONFLICT (tenant_id) DO UPDATE SET ${column} = counted.${column} + excluded.${column};
      RETURN NULL;
    END $$;
    CREATE TRIGGER counted_${on.toLowerCase()} AFTER ${on} ON ${table} REFERENCING ${rows} TABLE AS changed
      FOR EACH STATEMENT EXECUTE FUNCTION ${table}_${on.toLowerCase()}_counted();`;
  return count("INSERT", "NEW", "") + count("DELETE", "OLD", "-");
}

export const migrations: readonly string[] = [
  `
  CREATE TABLE head (
    is_only  boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    position bigint NOT NULL,
    epoch    bigint NOT NULL
  );
  INSERT INTO head (position, epoch) VALUES (0, 0);

  CREATE TABLE log (
    last         bigint NOT NULL,
    first        bigint NOT NULL,
    tenant_id    ${text} NOT NULL,
    workspace_id ${text},
    session_id   ${text},
    task_id      ${text},
    actor        ${text},
    key_id       ${text},
    created_at   ${text} NOT NULL,
    events       ${text} NOT NULL,
    numbers      ${text} NOT NULL,
    checksum     bigint NOT NULL,
    PRIMARY KEY (last)
  ) PARTITION BY RANGE (last);
  CREATE INDEX log_by_tenant    ON log (tenant_id, last);
  CREATE INDEX log_by_workspace ON log (workspace_id, last) WHERE workspace_id IS NOT NULL;
  CREATE INDEX log_by_session   ON log (session_id, last)   WHERE session_id IS NOT NULL;
  CREATE INDEX log_by_task      ON log (task_id, last)      WHERE task_id IS NOT NULL;

  CREATE TABLE documents (
    id           ${text} PRIMARY KEY,
    kind         ${text} NOT NULL,
    tenant_id    ${text} NOT NULL,
    listed_in    ${text},
    version      bigint NOT NULL,
    sequence     bigint NOT NULL,
    last_event   bigint,
    born         bigint NOT NULL,
    workspace_id ${text},
    session_id   ${text},
    task_id      ${text},
    owner_id     ${text},
    status       ${text},
    wake_at      bigint,
    rank         bigint,
    label        ${text},
    body         ${text} NOT NULL
  ) WITH (fillfactor = 80);
  CREATE INDEX documents_by_tenant    ON documents (kind, listed_in, born, id)    WHERE listed_in IS NOT NULL;
  CREATE INDEX documents_by_workspace ON documents (kind, workspace_id, born, id) WHERE workspace_id IS NOT NULL;
  CREATE INDEX documents_by_session   ON documents (kind, session_id, born, id)   WHERE session_id IS NOT NULL;
  CREATE INDEX documents_by_task      ON documents (kind, task_id, born, id)      WHERE task_id IS NOT NULL;
  CREATE INDEX documents_by_owner     ON documents (kind, owner_id, born, id)     WHERE owner_id IS NOT NULL;
  CREATE INDEX documents_due          ON documents (kind, wake_at, id)            WHERE wake_at IS NOT NULL;
  CREATE INDEX documents_ranked       ON documents (kind, listed_in, status, rank, id, workspace_id)
    WHERE rank IS NOT NULL;
  CREATE INDEX documents_labelled     ON documents (kind, listed_in, label, status, rank, id, workspace_id)
    WHERE rank IS NOT NULL AND label IS NOT NULL;

  CREATE TABLE texts (
    id        ${text} PRIMARY KEY,
    tenant_id ${text} NOT NULL,
    kind      ${text} NOT NULL,
    words     tsvector NOT NULL
  );
  CREATE INDEX texts_by_word ON texts USING gin (words);

  CREATE TABLE once (
    key         ${text} PRIMARY KEY,
    fingerprint ${text} NOT NULL,
    result      ${text} NOT NULL,
    position    bigint,
    expires_at  bigint NOT NULL
  );
  CREATE INDEX once_by_expiry ON once (expires_at);

  CREATE TABLE cursors (
    name     ${text} PRIMARY KEY,
    position bigint NOT NULL
  );

  CREATE TABLE writers (
    id     ${text} PRIMARY KEY,
    groups bigint NOT NULL,
    seen   timestamptz NOT NULL DEFAULT now()
  );

  CREATE TABLE blobs (
    sha256  ${text} PRIMARY KEY,
    bytes   bigint NOT NULL,
    content bytea,
    upload  ${text}
  );
  CREATE TABLE blob_owners (
    sha256    ${text} NOT NULL,
    tenant_id ${text} NOT NULL,
    bytes     bigint NOT NULL,
    PRIMARY KEY (sha256, tenant_id)
  );
  CREATE TABLE uploads (
    id         ${text} PRIMARY KEY,
    sha256     ${text},
    started_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX uploads_by_hash ON uploads (sha256) WHERE sha256 IS NOT NULL;
  CREATE TABLE parts (
    upload   ${text} NOT NULL,
    number   integer NOT NULL,
    checksum bigint NOT NULL,
    content  bytea NOT NULL,
    PRIMARY KEY (upload, number)
  );
  ALTER TABLE parts ALTER COLUMN content SET STORAGE EXTERNAL;

  CREATE TABLE tenant_bytes (
    tenant_id ${text} PRIMARY KEY,
    log       bigint NOT NULL DEFAULT 0,
    blobs     bigint NOT NULL DEFAULT 0
  );
  ${counted("log", "log", "octet_length(events) + octet_length(numbers)")}
  ${counted("blob_owners", "blobs", "bytes")}
  ${tenantTables.map(onlyOwnRows).join("")}
  `,
  // From here on, payloads of events may be differences from a pattern (`compact-entries.ts`), which an older Bridle cannot read.
  "SELECT 1",
];

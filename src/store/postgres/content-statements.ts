/** The statements about content. */

import type { Position } from "../port.ts";
import type { Statement } from "./connect.ts";
import { statement } from "./statements.ts";

export function contentOf(tenantId: string, sha256: string): Statement {
  return statement(
    `SELECT blobs.bytes, blobs.content, blobs.upload FROM blob_owners JOIN blobs ON blobs.sha256 = blob_owners.sha256
     WHERE blob_owners.tenant_id = $1 AND blob_owners.sha256 = $2`,
    ...[tenantId, sha256],
  );
}

export function contentOfAnybody(sha256: string): Statement {
  return statement("SELECT bytes, content, upload FROM blobs WHERE sha256 = $1", sha256);
}

export function partOf(upload: string, number: number): Statement {
  return statement("SELECT content, checksum FROM parts WHERE upload = $1 AND number = $2", upload, number);
}

export function beginUpload(upload: string): Statement {
  return statement("INSERT INTO uploads (id) VALUES ($1)", upload);
}

export function addPart(upload: string, number: number, checksum: number, content: Buffer): Statement {
  // A part that is sent again after a lost connection may be there.
  return statement(
    "INSERT INTO parts (upload, number, checksum, content) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
    ...[upload, number, checksum, content],
  );
}

export function wantContent(upload: string, sha256: string): Statement {
  return statement(
    "INSERT INTO uploads (id, sha256) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET sha256 = excluded.sha256",
    ...[upload, sha256],
  );
}

/** Writes the row even if it is there: so it is locked, and is not dropped while this transaction lasts. */
export function addContent(sha256: string, bytes: number, upload: string): Statement {
  return statement(
    `INSERT INTO blobs (sha256, bytes, upload) VALUES ($1, $2, $3)
     ON CONFLICT (sha256) DO UPDATE SET bytes = excluded.bytes RETURNING upload`,
    ...[sha256, bytes, upload],
  );
}

export function endUpload(upload: string): Statement {
  return statement("DELETE FROM uploads WHERE id = $1", upload);
}

export function dropParts(uploads: readonly unknown[]): Statement {
  return statement("DELETE FROM parts WHERE upload = ANY($1)", uploads);
}

/** Unless they are content by now. */
export function dropPartsOfNone(upload: string): Statement {
  return statement(
    "DELETE FROM parts WHERE upload = $1 AND NOT EXISTS (SELECT FROM blobs WHERE blobs.upload = parts.upload)",
    upload,
  );
}

/** Which of these hashes the log has mentioned since a position. */
export function mentioned(sha256s: readonly string[], since: Position): Statement {
  return statement(
    `SELECT sha256 FROM unnest($1::text[]) AS wanted (sha256)
     WHERE EXISTS (SELECT FROM log WHERE last > $2 AND strpos(events, wanted.sha256) > 0)`,
    ...[sha256s, since],
  );
}

export function lockContent(sha256s: readonly string[]): Statement {
  return statement("SELECT sha256 FROM blobs WHERE sha256 = ANY($1) ORDER BY sha256 FOR UPDATE", sha256s);
}

export function dropUnwanted(sha256s: readonly string[]): Statement {
  return statement(
    `DELETE FROM blobs WHERE sha256 = ANY($1)
       AND NOT EXISTS (SELECT FROM uploads WHERE uploads.sha256 = blobs.sha256)
     RETURNING sha256, bytes, upload`,
    sha256s,
  );
}

export function dropOwners(sha256s: readonly string[]): Statement {
  return statement("DELETE FROM blob_owners WHERE sha256 = ANY($1)", sha256s);
}

/** No upload takes that long. */
export const dropOldUploads = statement("DELETE FROM uploads WHERE started_at < now() - interval '1 day'");

export const dropLostParts = statement(
  `DELETE FROM parts WHERE NOT EXISTS (SELECT FROM uploads WHERE uploads.id = parts.upload)
     AND NOT EXISTS (SELECT FROM blobs WHERE blobs.upload = parts.upload)`,
);

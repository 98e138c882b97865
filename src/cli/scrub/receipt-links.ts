/** Whether the receipts of each workspace form the chain that its document says: every one names the hash of the one before. */

import type { DatabaseSync } from "node:sqlite";
import type { Row } from "../../store/log-rows.ts";
import { DocumentBodies } from "../../store/sqlite/document-body.ts";
import type { OnDamage } from "../../store/sqlite/examine-database.ts";
import { openReadOnly } from "../../store/sqlite/read-only.ts";

interface Receipt {
  hash: string;
  previous_hash: string | null;
  index: number | null;
}

interface Chain {
  workspace_id: string;
  size: number;
  last_hash: string | null;
}

/** Gives the number of receipts that are in a chain. */
export function checkReceiptLinks(file: string, onDamage: OnDamage): number {
  using db = openReadOnly(file);
  let count = 0;
  const bodies = new DocumentBodies(db);
  for (const row of db.prepare("SELECT body, born FROM documents WHERE kind = 'receipt_chain'").all()) {
    const chain = readBody<Chain>(bodies, row);
    if (chain === null) continue;
    const found = (where: string, problem: string) => onDamage({ file, what: "document", where, problem });
    count += checkChain(db, bodies, chain, found);
  }
  return count;
}

function checkChain(
  db: DatabaseSync,
  bodies: DocumentBodies,
  { workspace_id, size, last_hash }: Chain,
  found: (where: string, problem: string) => void,
): number {
  const rows = db
    .prepare(
      "SELECT id, body, born FROM documents WHERE kind = 'receipt' AND workspace_id = ? ORDER BY born, id",
    )
    .iterate(workspace_id);
  let previous: Receipt | null = null;
  for (const row of rows) {
    const { id } = row;
    const receipt = readBody<Receipt>(bodies, row);
    if (receipt === null || receipt.index === null) continue;
    const expected = (previous?.index ?? -1) + 1;
    if (receipt.index !== expected) found(String(id), `it is receipt ${receipt.index} after ${expected - 1}`);
    else if (receipt.previous_hash !== (previous?.hash ?? null))
      found(String(id), "it does not name the one before");
    previous = receipt;
  }
  const count = (previous?.index ?? -1) + 1;
  if (count !== size || (previous?.hash ?? null) !== last_hash) {
    found(workspace_id, `its chain has ${count} receipts where ${size} are recorded, or ends otherwise`);
  }
  return count;
}

/** What cannot be read is reported as a document. */
function readBody<T>(bodies: DocumentBodies, { body = null, born = null }: Row): T | null {
  try {
    // What the database holds under these kinds, Bridle wrote.
    return bodies.read({ body, born }) as T;
  } catch {
    return null;
  }
}

/** The thread that makes receipts: it reads the log with a connection of its own and hands what it made to the thread that commits. */

import type { KeyObject } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../kernel/core/clock.ts";
import type { DueReceipt } from "../kernel/receipts/due.ts";
import { ReceiptProjection } from "../kernel/receipts/projection.ts";
import { Issuer } from "../kernel/receipts/signing.ts";
import { signingKey } from "../receipts/keys.ts";
import { type Batch, BatchFailed, type Position } from "../store/port.ts";
import { openSqliteReads } from "../store/sqlite/tenant-reads.ts";

export interface ReceiptsOptions {
  directory: string;
  signer: Signer;
}

export interface Signer {
  privateKey: KeyObject;
  issuerId: string;
}

/** How far the log is, and which receipts became due since it was last said. */
export interface Note {
  head: Position;
  due: readonly DueReceipt[];
}

export type ToReceipts =
  | { type: "note"; note: Note }
  /** Sign with this key from now on. */
  | { type: "signer"; signer: Signer }
  /** The commit that was asked for is on disk. */
  | { type: "committed"; note: Note }
  /** Whether it failed for a reason of its own, and not because the store takes no commits now. */
  | { type: "failed"; reason: string; isOfBatch: boolean };

export type FromReceipts =
  | { type: "commit"; batch: Batch }
  /** Everything up to here has its receipt; a commit says so itself. */
  | { type: "reached"; position: Position }
  | { type: "error"; error: unknown };

const { directory, signer }: ReceiptsOptions = workerData;

function issuerFor({ privateKey, issuerId }: Signer): Issuer {
  const issuer = new Issuer(signingKey(privateKey), () => {});
  issuer.adopt(issuerId);
  return issuer;
}

let issuer = issuerFor(signer);
/** There is one commit at a time. */
let committing = Promise.withResolvers<void>();

function post(message: FromReceipts): void {
  parentPort?.postMessage(message);
}

const store = openSqliteReads(directory);
/** Up to here the other thread knows. */
let told: Position = 0;

const projection = new ReceiptProjection({
  store,
  together: store.together,
  commit(batch) {
    told = batch.cursor?.to ?? told;
    committing = Promise.withResolvers();
    post({ type: "commit", batch });
    return committing.promise;
  },
  issuer: {
    get key() {
      return issuer.key;
    },
    describe: () => issuer.describe(),
    describeReplay: () => issuer.describeReplay(),
  },
  clock: systemClock,
  onReached(position) {
    if (position > told) post({ type: "reached", position });
    told = Math.max(told, position);
  },
  onError: (error) => post({ type: "error", error }),
});

parentPort?.on("message", (message: ToReceipts) => {
  switch (message.type) {
    case "note":
      projection.note(message.note.head, message.note.due);
      break;
    case "signer":
      issuer = issuerFor(message.signer);
      break;
    case "committed":
      committing.resolve();
      projection.note(message.note.head, message.note.due);
      break;
    case "failed":
      committing.reject(message.isOfBatch ? new BatchFailed(message.reason) : new Error(message.reason));
      break;
  }
});

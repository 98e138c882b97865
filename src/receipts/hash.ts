/** What a receipt's hash covers: everything in it but the hash itself and the signatures, which are made over it. */

import { hashOf } from "./canonical.ts";
import type { Receipt } from "./schema.ts";

/** A receipt before it is hashed and signed; a finished one will do as well. */
export type ReceiptBody = Omit<Receipt, "signatures" | "chain"> & {
  chain: Omit<Receipt["chain"], "receipt_hash">;
};

export function receiptHash(receipt: ReceiptBody): string {
  return hashWithoutSeal(receipt);
}

/** The same for a document that may not be a receipt at all: the hash of a bad one is worth knowing, too. */
export function hashWithoutSeal(document: { chain: object }): string {
  const body: Record<string, unknown> = { ...document };
  delete body.signatures;
  const chain: Record<string, unknown> = { ...document.chain };
  delete chain.receipt_hash;
  body.chain = chain;
  return hashOf(body);
}

/** The hash of a receipt. */

import { hashOf } from "./canonical.ts";
import type { Receipt } from "./schema.ts";
import { withoutSeal } from "./seal.ts";

/** A receipt before it is hashed and signed; a finished one will do as well. */
export type ReceiptBody = Omit<Receipt, "signatures" | "chain"> & {
  chain: Omit<Receipt["chain"], "receipt_hash">;
};

export function receiptHash(receipt: ReceiptBody): string {
  return hashOf(withoutSeal(receipt));
}

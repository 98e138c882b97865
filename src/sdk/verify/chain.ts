/** Verifies a whole chain, oldest receipt first: each one, that it follows the one before, and the tree over all. */

import { isRecord, type Verification } from "../../receipts/checks.ts";
import type { PublicJwk } from "../../receipts/public-keys.ts";
import { sha256Pattern } from "../../web/canonical-json.ts";
import { rootOf, withLeaf } from "./merkle.ts";
import { verifyReceipt } from "./receipt.ts";

export interface ChainFailure {
  /** Its place in the chain, from 0. */
  index: number;
  verification: Verification;
}

export interface ChainReport {
  valid: boolean;
  receipts: number;
  /** The first ones; a chain may fail without end. */
  failures: ChainFailure[];
  /** To be compared with one that was learnt elsewhere: only that shows a chain cut short. Null when one had no hash. */
  merkleRoot: string | null;
}

const failuresMax = 100;
const hashForm = new RegExp(sha256Pattern);

export async function verifyChain(
  receipts: AsyncIterable<unknown> | Iterable<unknown>,
  keys: readonly PublicJwk[],
): Promise<ChainReport> {
  const report: ChainReport = { valid: true, receipts: 0, failures: [], merkleRoot: null };
  let previousHash: string | null = null;
  let frontier: string[] | null = [];
  for await (const receipt of receipts) {
    const index = report.receipts++;
    const chain = frontier === null ? undefined : { previousHash, merkleRoot: await rootOf(frontier) };
    const verification = await verifyReceipt(receipt, { keys, chain });
    if (!verification.valid) {
      report.valid = false;
      if (report.failures.length < failuresMax) report.failures.push({ index, verification });
    }
    // By the hash that it states: a forged one is reported once, not again with each that follows it.
    previousHash = statedHash(receipt);
    frontier =
      frontier === null || previousHash === null ? null : await withLeaf(frontier, index, previousHash);
  }
  report.merkleRoot = frontier === null ? null : await rootOf(frontier);
  return report;
}

function statedHash(receipt: unknown): string | null {
  const hash = isRecord(receipt) && isRecord(receipt.chain) ? receipt.chain.receipt_hash : null;
  return typeof hash === "string" && hashForm.test(hash) ? hash : null;
}

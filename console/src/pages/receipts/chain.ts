/** The receipts of one workspace as the links of their chain. Those of replays hang on the receipt of their source, outside of it. */

import type { Receipt } from "bridle/verify";

export interface ChainLink {
  receipt: Receipt;
  hash: string;
  previous: string | null;
  /** To the receipt before it: `linked` if that is the one whose hash it has, `broken` if it is another one. */
  link: "linked" | "first" | "broken" | "unknown";
}

/** Newest first, as they are listed; the one before the last is not loaded yet. */
export function linksOf(listed: readonly Receipt[], workspace: string | undefined): ChainLink[] {
  const of = workspace ?? listed[0]?.identifiers.workspace_ref;
  const receipts = listed.filter(
    ({ subject, identifiers }) => subject.object !== "replay_segment" && identifiers.workspace_ref === of,
  );
  return receipts.map((receipt, n) => {
    const { receipt_hash: hash, previous_receipt_hash: previous } = receipt.chain;
    const older = receipts[n + 1];
    const link =
      previous === null
        ? "first"
        : older === undefined
          ? "unknown"
          : older.chain.receipt_hash === previous
            ? "linked"
            : "broken";
    return { receipt, hash, previous, link };
  });
}

/** Enough of a hash for a person to compare. */
export function short(hash: string): string {
  return hash.replace(/^sha256:/, "").slice(0, 10);
}

/** A file that somebody brought: one receipt, or the export of a chain. Read and checked here, and sent nowhere. */

import {
  type ChainReport,
  type PublicJwk,
  parseStrictJson,
  publicKeysIn,
  type Verification,
  verifyChain,
  verifyReceipt,
} from "bridle/verify";
import { bridle } from "../../server/bridle.ts";
import { text } from "../../text.ts";
import { isRecord } from "../run/words.ts";

export type Verified =
  | { kind: "receipt"; verification: Verification; receipt: unknown }
  | { kind: "chain"; report: ChainReport };

/** Lines before the receipts: the header of the export, and the keys of whoever made it, which prove nothing. */
const linesBefore = 2;

/** `given` is a key set as text; the keys that this server publishes otherwise. */
export async function verifyText(content: string, given: string | null): Promise<Verified> {
  const keys = given === null ? await bridle.receipts.keys() : keysIn(given);
  const lines = content.split("\n").filter((line) => line.trim() !== "");
  const first = lines.length > 1 ? parsed(lines[0] ?? "") : null;
  if (isRecord(first) && String(first.format).startsWith("bridle-receipts/")) {
    return { kind: "chain", report: await verifyChain(lines.slice(linesBefore).map(parsed), keys) };
  }
  const receipt = parsed(content);
  if (!isRecord(receipt)) throw new Error(text.receipts.notJson);
  return { kind: "receipt", verification: await verifyReceipt(receipt, { keys }), receipt };
}

function keysIn(given: string): readonly PublicJwk[] {
  const keys = publicKeysIn(parsed(given));
  if (keys === null || keys.length === 0) throw new Error(text.receipts.noKeys);
  return keys;
}

function parsed(content: string): unknown {
  try {
    return parseStrictJson(content);
  } catch {
    return null;
  }
}

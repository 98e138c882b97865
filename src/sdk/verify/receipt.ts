/** Verifies one receipt by the same checks as a server does. */

import {
  checkReceipt,
  isRecord,
  problemOfForm,
  signaturesOf,
  type Verification,
  type VerifyOptions,
} from "../../receipts/checks.ts";
import type { Receipt } from "../../receipts/schema.ts";
import { withoutSeal } from "../../receipts/seal.ts";
import { canonicalJson } from "../../web/canonical-json.ts";
import { isSignedBy, sha256Of } from "./crypto.ts";
import { problemIn } from "./form.ts";
import { receiptForm } from "./receipt-form.ts";

/** Whatever it is handed, the answer is a verdict; it throws only where the platform has no Ed25519. */
export async function verifyReceipt(value: unknown, options: VerifyOptions): Promise<Verification> {
  const formProblem = problemOfForm(value, (document) => problemIn(document, receiptForm));
  const text = canonicalOrNull(value);
  const hash = text === null ? null : await sha256Of(text);
  const proven = hash === null ? new Set() : await provenSignatures(value, hash, options);
  const isSigned = (key: { kid: string }, _hash: string, signature: string) =>
    proven.has(nameOf(key.kid, signature));
  return checkReceipt(value, { formProblem, hash, isSigned }, options);
}

function canonicalOrNull(value: unknown): string | null {
  try {
    if (!isRecord(value) || !isRecord(value.chain)) return null;
    return canonicalJson(withoutSeal({ ...value, chain: value.chain }));
  } catch {
    return null;
  }
}

/** Found out beforehand, since the checks themselves do not wait for anything. */
async function provenSignatures(value: unknown, hash: string, { keys }: VerifyOptions): Promise<Set<string>> {
  const proven = new Set<string>();
  for (const entry of isRecord(value) ? signaturesOf(value) : []) {
    if (!isRecord(entry) || typeof entry.signature !== "string") continue;
    const key = keys.find(({ kid }) => kid === entry.key_id);
    if (key !== undefined && (await isSignedBy(key, hash, entry.signature))) {
      proven.add(nameOf(key.kid, entry.signature));
    }
  }
  return proven;
}

function nameOf(keyId: string, signature: string): string {
  return `${signature} ${keyId}`;
}

/** Whether it has the form of a receipt. That it is genuine is for `verifyReceipt` to say. */
export function isReceipt(value: unknown): value is Receipt {
  return problemIn(value, receiptForm) === null;
}

/** Verifies one receipt with the cryptography of Node. Never throws, whatever it is handed. See `checks.ts`. */

import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import { hashOf } from "./canonical.ts";
import { checkReceipt, isRecord, problemOfForm, type Verification, type VerifyOptions } from "./checks.ts";
import { verifySignature } from "./keys.ts";
import { ReceiptSchema } from "./schema.ts";
import { withoutSeal } from "./seal.ts";

export function verifyReceipt(value: unknown, options: VerifyOptions): Verification {
  const findings = {
    formProblem: problemOfForm(value, schemaProblem),
    hash: hashOrNull(value),
    isSigned: verifySignature,
  };
  return checkReceipt(value, findings, options);
}

const receiptSchema = lazy(() => Compile(ReceiptSchema));

function schemaProblem(value: unknown): string | null {
  if (receiptSchema().Check(value)) return null;
  const [, [error]] = receiptSchema().Errors(value);
  return `${error?.instancePath || "the document"} ${error?.message ?? "is not as expected"}`;
}

function hashOrNull(value: unknown): string | null {
  try {
    return isRecord(value) && isRecord(value.chain)
      ? hashOf(withoutSeal({ ...value, chain: value.chain }))
      : null;
  } catch {
    return null;
  }
}

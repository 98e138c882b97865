/** Verify a receipt of this server against its own chain and keys, and record the result: it is evidence too. */

import type { Verification } from "../../receipts/checks.ts";
import { verifyReceipt } from "../../receipts/verify.ts";
import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { chainFacts, readReceipt } from "./read-receipts.ts";
import { publicKeys } from "./signing-keys.ts";

export interface VerifyStoredReceipt {
  receiptId: string;
  trustAnchor?: string | undefined;
  atTime?: string | undefined;
}

export interface CheckedReceipt extends Verification {
  checkedAt: string;
}

export const verifyStoredReceipt: Command<VerifyStoredReceipt, CheckedReceipt> = {
  name: "verify_receipt",
  scope: "receipts:read",
  decide(unit, { receiptId, trustAnchor, atTime }) {
    const { store, receipts } = unit.deps;
    unit.awaited("receipts", () => receipts.caughtUp());
    const record = unit.require("receipt", receiptId);
    const { own } = unit;
    const verification = unit.awaited("verification", async () =>
      verifyReceipt(await readReceipt(own, receiptId), {
        keys: await publicKeys(store),
        chain: await chainFacts(own, record),
        trustAnchor,
        atTime,
      }),
    );
    const checks: JsonObject = Object.fromEntries(verification.checks.map(({ name, ok }) => [name, ok]));
    unit.emit(record, verification.valid ? "receipt.verified" : "receipt.verification_failed", { checks });
    return { ...verification, checkedAt: unit.at };
  },
};

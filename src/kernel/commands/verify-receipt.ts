/** Verify a receipt of this server against its own chain and keys, and record the result: it is evidence too. */

import type { Verification } from "../../receipts/checks.ts";
import { verifyReceipt } from "../../receipts/verify.ts";
import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../dispatch.ts";
import { chainFacts, readReceipt } from "../queries/receipts.ts";
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
  async decide(unit, { receiptId, trustAnchor, atTime }) {
    const { store, receipts } = unit.deps;
    await receipts.caughtUp();
    const record = await unit.require("receipt", receiptId);
    const verification = verifyReceipt(await readReceipt(unit.own, receiptId), {
      keys: await publicKeys(store),
      chain: await chainFacts(unit.own, record),
      trustAnchor,
      atTime,
    });
    const checks: JsonObject = Object.fromEntries(verification.checks.map(({ name, ok }) => [name, ok]));
    unit.emit(record, verification.valid ? "receipt.verified" : "receipt.verification_failed", { checks });
    return { ...verification, checkedAt: unit.at };
  },
};

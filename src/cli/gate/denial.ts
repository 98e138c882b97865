/** Why something is not done. Whatever goes wrong, the answer is no, with a sentence that says what to do. */

import { PolicyError } from "../../gate/policy.ts";
import { CannotBind } from "../../gate/request.ts";
import { ConnectionFailed, PermissionDenied, Unauthenticated } from "../../sdk/client/index.ts";
import { complaintOf } from "../exit-codes.ts";
import { oneLine } from "../terminal/text.ts";

/** As scripts tell the reasons apart. */
export const gateExit = { denied: 10, expired: 11, noApprover: 12, failed: 13 } as const;

export class Denied extends Error {
  override name = "Denied";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = gateExit.denied) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function denialOf(error: unknown): Denied {
  if (error instanceof Denied) return error;
  const { text } = complaintOf(error);
  return new Denied(`${oneLine(text)}${adviceFor(error)}`, gateExit.failed);
}

function adviceFor(error: unknown): string {
  if (error instanceof PolicyError) return " Mend the policy; `bridle gate check` shows what it says.";
  if (error instanceof CannotBind) return " Name it so that it can be shown and signed.";
  if (error instanceof ConnectionFailed) return " Without its server the gate allows nothing.";
  if (error instanceof Unauthenticated || error instanceof PermissionDenied) {
    return " Give the gate a key with the scopes that docs/reference/gate.md lists (BRIDLE_KEY).";
  }
  return " Nothing was run.";
}

/** What a shell shows of a request for permission, and may answer. */

import { hashOf } from "../../receipts/canonical.ts";
import { HarnessError } from "../core/errors.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";

/**
 * Names exactly what is asked, as hex of SHA-256: an answer that names something else is no answer. Requests of older logs
 * have none of their own.
 */
export function approvalHashOf({ request }: Pick<PermissionRequestRecord, "request">): string {
  const { artifact_hash } = request;
  if (typeof artifact_hash === "string") return artifact_hash;
  return hashWellFormed(request, hashOf).slice("sha256:".length);
}

/** The person saw something else than what would be decided. */
export class ApprovalMismatch extends HarnessError {
  constructor(requestId: string) {
    super(
      "policy_violation",
      `The answer to ${requestId} names another artifact_hash than what is asked; nothing was decided.`,
      { details: { request_id: requestId } },
    );
  }
}

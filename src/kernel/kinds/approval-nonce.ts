/** A nonce that an approver's key has signed with: it is never good for a second decision. */

import { sha256Hex } from "../core/content.ts";
import type { Resource } from "./resource.ts";

export interface ApprovalNonceRecord extends Resource<"approval_nonce"> {
  /** Of the task that asked; null for a change that needed consent. */
  workspace_id: string | null;
  session_id: string | null;
  task_id: string | null;
  /** The exchange that it was used in. */
  request_id: string;
}

export function approvalNonceId(signerKeyId: string, nonce: string): string {
  return `nonce_${sha256Hex(JSON.stringify([signerKeyId, nonce]))}`;
}

/** Requests as an approver has them before it: opened, or with the reason why they cannot be. */

import { type Artifact, type DecisionTerms, termsOf } from "./artifact.ts";
import { type ListedMessage, readApprovalRequest } from "./gateway-answers.ts";
import { HarpError } from "./harp-error.ts";
import type { ApproverKeys } from "./keys.ts";
import { openRequest } from "./open.ts";
import { isObject } from "./read.ts";
import { parseTime } from "./times.ts";
import type { ApprovalRequest, Metadata } from "./wire.ts";

export interface OpenedRequest {
  readonly isOpened: true;
  readonly requestId: string;
  /** Of the message that it came in. */
  readonly msgId: string;
  /** Decrypted and verified; nothing in it can be changed. */
  readonly artifact: Artifact;
  /** What the enforcer offers beyond one use, if anything. */
  readonly terms: DecisionTerms | null;
  /** The gateway's own words: nobody has verified them. */
  readonly metadata: Metadata;
}

export interface UnopenedRequest {
  readonly isOpened: false;
  readonly requestId: string;
  readonly problem: HarpError;
  readonly metadata: Metadata;
}

export type PendingRequest = OpenedRequest | UnopenedRequest;

/** As of this moment, or of the last one in which an expired one was still open: that is for looking at only. */
export async function openListed(
  { requestId, envelope }: ListedMessage,
  keys: ApproverKeys,
  when: { nowMs: number } | "before_it_expired",
): Promise<PendingRequest> {
  try {
    const request = readApprovalRequest(envelope, "approval.request");
    const nowMs = when === "before_it_expired" ? lastMomentOf(request) : when.nowMs;
    const artifact = await openRequest(request, keys, nowMs);
    if (artifact.requestId !== requestId) {
      throw new HarpError(
        "HARP_ERR_HASH_MISMATCH",
        "The message is about another request than it is listed for.",
      );
    }
    return {
      isOpened: true,
      requestId,
      msgId: request.msgId,
      artifact: frozen(artifact),
      terms: termsOf(artifact),
      metadata: request.body.metadata ?? {},
    };
  } catch (error) {
    return { isOpened: false, requestId, problem: problemOf(error), metadata: metadataIn(envelope) };
  }
}

function lastMomentOf({ expiresAt = "" }: ApprovalRequest): number {
  return (parseTime(expiresAt) ?? Number.NaN) - 1;
}

/** Whatever it is, the request stays closed. */
function problemOf(error: unknown): HarpError {
  if (error instanceof HarpError) return error;
  return new HarpError(
    "HARP_ERR_TRANSPORT",
    "The request cannot be opened.",
    { reason: "check_failed" },
    { cause: error },
  );
}

function metadataIn(envelope: unknown): Metadata {
  const body = isObject(envelope) && isObject(envelope.body) ? envelope.body : {};
  return isObject(body.metadata) ? body.metadata : {};
}

/** What a person was shown is what is signed, whatever happens to the object in between. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

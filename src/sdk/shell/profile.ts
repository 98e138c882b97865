/**
 * What Bridle's engine adds to the protocol under `extensions["com.bridle"]` (docs/protocols/openharness.md): names for directives, what a
 * question expects, and how a run stands. Other engines add none of it, so nothing here is required.
 */

import { isObject, type Json, type JsonObject, member } from "./json.ts";

export const vendor = "com.bridle";

const idCharsMax = 1024;
const notTakenMax = 1000;

const kinds = ["message", "action", "question", "approval", "status"] as const;
export type DirectiveKind = (typeof kinds)[number];

export interface DirectiveProfile {
  /** Names the directive for ever: one that is told again is the same one. */
  readonly id: string | undefined;
  readonly kind: DirectiveKind | undefined;
  /** Whether the engine waits to hear what became of it. */
  readonly expectsOutcome: boolean;
  /** The JSON Schema that the answer to a question has to meet. */
  readonly schema: JsonObject | undefined;
}

/** The vendor's part of an `extensions` object; empty when it has none. */
function vendorPart(extensions: Json | undefined): JsonObject {
  const part = isObject(extensions) ? member(extensions, vendor) : undefined;
  return isObject(part) ? part : {};
}

export function directiveProfile(extensions: JsonObject): DirectiveProfile {
  const part = vendorPart(extensions);
  const schema = member(part, "schema");
  return {
    id: shortText(member(part, "directive_id")),
    kind: kinds.find((kind) => kind === member(part, "kind")),
    expectsOutcome: member(part, "expects_outcome") === true,
    schema: isObject(schema) ? schema : undefined,
  };
}

export interface ResponseProfile {
  readonly runId: string | undefined;
  readonly runStatus: string | undefined;
  readonly receiptId: string | undefined;
  /** What of the request came too late. */
  readonly notTaken: readonly string[];
}

export function responseProfile(response: JsonObject): ResponseProfile {
  const part = vendorPart(member(response, "extensions"));
  const notTaken = member(part, "not_taken");
  return {
    runId: shortText(member(part, "run_id")),
    runStatus: shortText(member(part, "run_status")),
    receiptId: shortText(member(part, "receipt_id")),
    notTaken: Array.isArray(notTaken)
      ? notTaken.slice(0, notTakenMax).filter((item) => typeof item === "string")
      : [],
  };
}

/** What a `request_approval` is about. */
export interface Approval {
  readonly requestId: string | undefined;
  /** What exactly is approved; it goes back with the decision. */
  readonly artifactHash: string | undefined;
  readonly message: string | undefined;
  readonly summary: string | undefined;
  readonly action: string | undefined;
  readonly details: Json | undefined;
  readonly risk: string | undefined;
  readonly expiresAt: string | undefined;
  /** Whether the decision is given somewhere else, and the shell only waits. */
  readonly isElsewhere: boolean;
}

export function approvalOf({ payload }: { payload: JsonObject }): Approval {
  const text = (name: string) => {
    const value = member(payload, name);
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const via = text("via");
  return {
    requestId: text("request_id"),
    artifactHash: text("artifact_hash"),
    message: text("message"),
    summary: text("summary"),
    action: text("action"),
    details: member(payload, "details"),
    risk: text("risk"),
    expiresAt: text("expires_at"),
    // A way that is not known is one that this shell does not have.
    isElsewhere: via !== undefined && via !== "shell",
  };
}

function shortText(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= idCharsMax ? value : undefined;
}

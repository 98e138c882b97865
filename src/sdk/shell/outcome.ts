/** What became of a directive, for the embedding program and, in the engine's words, for the engine. */

import type { Directive } from "./directive.ts";
import type { Json, JsonObject } from "./json.ts";
import { approvalOf } from "./profile.ts";

export type OutcomeStatus =
  /** The handler returned, or there was nothing to do, or an approval was given. */
  | "succeeded"
  /** The handler threw, or gave back what cannot be reported. */
  | "failed"
  /** A person said no, or there was nobody to ask. */
  | "denied"
  /** Its deadline passed, before it began or while it ran. */
  | "timed_out"
  /** No handler is registered for its action type; nothing was done. */
  | "unknown_action_type"
  /** The turn was given up, before it began or while it ran. */
  | "canceled"
  /** An approval that is given in another place; the run goes on once it is. */
  | "elsewhere";

export interface Outcome {
  readonly directive: Directive;
  readonly status: OutcomeStatus;
  /** Whether the handler was called; if so, it may have had an effect whatever the status says. */
  readonly wasBegun: boolean;
  /** What the handler returned. */
  readonly result?: Json;
  /** Why it failed or was denied, fit to be shown and sent. */
  readonly reason?: string;
}

/** Larger results belong into an attachment. */
const resultCharsMax = 16_384;
const reasonCharsMax = 1000;

/** What a handler gave back, as JSON; throws for what is none or too large. */
export function resultOf(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) throw new Error("The handler's result cannot be written as JSON.");
  if (text.length > resultCharsMax) {
    throw new Error(`The handler's result has more than ${resultCharsMax} characters as JSON.`);
  }
  // What JSON.stringify wrote is JSON.
  return JSON.parse(text) as Json;
}

export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === "string" ? error : "";
  return text.trim() === "" ? "The handler failed without saying why." : text.slice(0, reasonCharsMax);
}

/** What the engine is told: under which list of the continuation, and what. */
export interface Report {
  readonly list: "outcomes" | "approvals";
  readonly item: JsonObject;
}

/** Null for what the engine does not ask about, and for what is still open. */
export function reportOf(outcome: Outcome): Report | null {
  const { directive } = outcome;
  if (directive.actionType === "request_approval") return decisionOf(outcome);
  if (directive.id === undefined || !directive.expectsOutcome) return null;
  const words = inEngineWords(outcome);
  return words === null ? null : { list: "outcomes", item: { directive_id: directive.id, ...words } };
}

function decisionOf({ directive, status, reason }: Outcome): Report | null {
  const { requestId, artifactHash } = approvalOf(directive);
  // What was not decided stays open; what nobody can name cannot be told.
  if ((status !== "succeeded" && status !== "denied") || requestId === undefined) return null;
  const item = {
    request_id: requestId,
    ...(artifactHash === undefined ? {} : { artifact_hash: artifactHash }),
    approved: status === "succeeded",
    ...(reason === undefined ? {} : { reason }),
  };
  return { list: "approvals", item };
}

function inEngineWords({ status, wasBegun, result, reason }: Outcome): JsonObject | null {
  switch (status) {
    case "succeeded":
      return { status: "completed", ...(result === undefined ? {} : { result }) };
    case "denied":
      return { status: "declined" };
    case "timed_out":
      return { status: "expired" };
    case "unknown_action_type":
      return { status: "skipped", error: { code: "unknown_action_type" } };
    case "failed":
      return failure("handler_failed", reason ?? "");
    case "canceled":
      // What has not begun is still to be done.
      return wasBegun ? failure("canceled", "It was given up while it was being carried out.") : null;
    case "elsewhere":
      return null;
  }
}

function failure(code: string, message: string): JsonObject {
  return { status: "failed", error: { code, message } };
}

/** For a directive that an earlier process of this shell began, and did not live to tell of. */
export function interruptedReport(directiveId: string): Report {
  const message = "The shell ended while it was being carried out; it is not known whether it was done.";
  return { list: "outcomes", item: { directive_id: directiveId, ...failure("interrupted", message) } };
}

/** What came of an intent: how the run stands, what became of the directives, and what is wanted of the person next. */

import type { Directive } from "./directive.ts";
import { messageText } from "./directive.ts";
import type { ShellError } from "./errors.ts";
import type { JsonObject } from "./json.ts";
import type { Outcome } from "./outcome.ts";
import { responseProfile } from "./profile.ts";
import type { ResponseMessage } from "./response.ts";

export interface Question {
  readonly id: string | undefined;
  readonly text: string;
  /** What the answer has to be, if it is not any text. */
  readonly schema: JsonObject | undefined;
}

export interface Turn {
  /** `open` is a run that goes on: with an answer, with `resume`, or by itself. */
  readonly status: "completed" | "failed" | "open";
  /**
   * What an open run waits for: an `answer` of the person, an `approval` that is given elsewhere, or the `engine`, which
   * works on and was not waited for any longer.
   */
  readonly awaits: "answer" | "approval" | "engine" | null;
  /** The question that the next intent answers. */
  readonly question: Question | undefined;
  /** Of every directive, in order; told again ones are there once. */
  readonly outcomes: readonly Outcome[];
  /** Why the run failed or the request was refused. */
  readonly error: ShellError | undefined;
  /** What was sent and came too late. */
  readonly notTaken: readonly string[];
  readonly runId: string | undefined;
  readonly receiptId: string | undefined;
}

const finalStatuses = new Set(["COMPLETED", "FAILED", "CANCELED"]);

/** Whether the run that the response is about has ended, or can no longer be reached. */
export function isRunOver({ error, continuation, raw }: ResponseMessage): boolean {
  if (continuation !== undefined) return false;
  if (error === undefined || error.code === "continuation_invalid") return true;
  const { runStatus } = responseProfile(raw);
  // A request that was refused has changed nothing; only a run that failed is named in its error.
  return (
    typeof error.details.run_id === "string" || (runStatus !== undefined && finalStatuses.has(runStatus))
  );
}

/** What an open run waits for, when everything that the shell could do for it is done. */
export function awaitsOf({ directives, raw }: ResponseMessage): "answer" | "approval" | "engine" {
  const { runStatus } = responseProfile(raw);
  if (questionOf(directives) !== undefined || runStatus === "INPUT_REQUIRED") return "answer";
  if (directives.some(({ kind }) => kind === "approval") || runStatus === "AUTH_REQUIRED") return "approval";
  // An engine that does not say how the run stands is at work if it has nothing to say, or else it is our turn.
  const isSilent = directives.every(({ actionType }) => actionType === "noop");
  return runStatus !== undefined || isSilent ? "engine" : "answer";
}

/** The question that was told last is the one that an intent answers. */
export function questionOf(directives: readonly Directive[]): Question | undefined {
  const last = directives.findLast(({ kind }) => kind === "question");
  return last && { id: last.id, text: messageText(last) ?? "", schema: last.schema };
}

/** What can be wrong with a remote agent, named by what follows: another try, or the end of the step. */

import { A2AError } from "@a2a-js/sdk/errors";
import { OutboundRedirected, OutboundRefused } from "../../policy/outbound.ts";

export class RemoteProblem extends Error {
  override name = "RemoteProblem";
  readonly code: string;
  /** Whether it may be over when it is tried again. */
  readonly isPassing: boolean;

  constructor(code: string, message: string, { isPassing = false } = {}) {
    super(message);
    this.code = code;
    this.isPassing = isPassing;
  }
}

const messageCharsMax = 500;

export function problemOf(error: unknown): RemoteProblem {
  if (error instanceof RemoteProblem) return error;
  const message = messageOf(error).slice(0, messageCharsMax);
  if (error instanceof OutboundRefused || error instanceof OutboundRedirected) {
    return new RemoteProblem("remote_refused", `The remote agent is not asked: ${message}`);
  }
  if (error instanceof A2AError) {
    const isPassing = error.reason === "INTERNAL_ERROR";
    const code = error.reason === "TASK_NOT_FOUND" ? "remote_task_lost" : "remote_refused";
    return new RemoteProblem(isPassing ? "remote_failed" : code, `The remote agent said: ${message}`, {
      isPassing,
    });
  }
  return new RemoteProblem("remote_unavailable", `The remote agent cannot be reached: ${message}`, {
    isPassing: true,
  });
}

/** What `fetch` says is only that it failed; its cause says why. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  return [error.message, cause.message || code].filter((text) => text !== "").join(": ");
}

/** The task is not there, or cannot be canceled any more: as good as canceled. */
export function isSettled(error: unknown): boolean {
  return (
    error instanceof A2AError && (error.reason === "TASK_NOT_FOUND" || error.reason === "TASK_NOT_CANCELABLE")
  );
}

/** A stream that the remote does not offer for this task, now or ever. */
export function hasNoStream(error: unknown): boolean {
  return error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
}

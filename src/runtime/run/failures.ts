/** How a run can fail, named by what the task's `failure.code` will say. */

import type { Failure } from "../../kernel/kinds/outcome.ts";
import { jsonCopy } from "./json.ts";

/** A failure that the agent's author or the harness has a name for. */
export class AgentFailure extends Error {
  override name = "AgentFailure";
  readonly code: string;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: string, message: string, details?: Record<string, unknown>) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** The code of a step fails with it when another attempt cannot help. */
export class NonRetryableError extends AgentFailure {
  override name = "NonRetryableError";

  constructor(message: string, { code = "step_failed", cause }: { code?: string; cause?: unknown } = {}) {
    super(code, message);
    if (cause !== undefined) this.cause = cause;
  }
}

/** An attempt at a step did not end in time. */
export class StepTimeout extends Error {
  override name = "StepTimeout";
  readonly code = "step_timeout";

  constructor(step: string, timeoutMs: number) {
    super(`Step ${step} did not end within ${timeoutMs} ms.`);
  }
}

/** The agent will not do this task at all. */
export class Rejected extends AgentFailure {
  override name = "Rejected";

  constructor(message: string) {
    super("rejected", message);
  }
}

/** A person said no. */
export class ApprovalDenied extends AgentFailure {
  override name = "ApprovalDenied";

  constructor(action: string, reason: string | null) {
    super("approval_denied", `Approval of "${action}" was denied${reason === null ? "." : `: ${reason}`}`);
  }
}

/** It was approved, but what was approved cannot be done with that any more. */
export class ApprovalRefused extends AgentFailure {
  override name = "ApprovalRefused";
}

/** Nobody answered in time. */
export class WaitExpired extends AgentFailure {
  override name = "WaitExpired";

  constructor(what: string, expiredAt: string) {
    super("deadline_exceeded", `Nobody answered "${what}" before ${expiredAt}.`);
  }
}

/** No host did what was asked of it in time. */
export class NobodyServed extends AgentFailure {
  override name = "NobodyServed";

  constructor(capability: string, expiredAt: string) {
    super("deadline_exceeded", `No host did ${capability} before ${expiredAt}.`);
  }
}

/** A remote agent did not come to an end in time. */
export class RemoteTooSlow extends AgentFailure {
  override name = "RemoteTooSlow";

  constructor(url: string, expiredAt: string) {
    super("deadline_exceeded", `The remote agent at ${url} was not done before ${expiredAt}.`);
  }
}

/** The code no longer asks for the steps that were recorded. */
export class NondeterministicRun extends AgentFailure {
  override name = "NondeterministicRun";

  constructor(recorded: string, attempted: string) {
    super(
      "nondeterministic_run",
      `The agent's code does not repeat what it did before: the log has the step ${recorded}, the code asked for ${attempted}.`,
      { recorded, attempted },
    );
  }
}

/** A replay came to something that the log does not have. */
export class ReplayDependencyUnavailable extends AgentFailure {
  override name = "ReplayDependencyUnavailable";

  constructor(
    sourceTaskId: string,
    dependency: { kind: string; key: string; event_id?: string },
    why = "it was never recorded",
  ) {
    super(
      "replay_dependency_unavailable",
      `The log of task ${sourceTaskId} cannot supply ${dependency.key}: ${why}.`,
      { source_task_id: sourceTaskId, dependency },
    );
  }
}

/** The details as they can be written down; an agent may put anything there, and must fail all the same. */
function asJson(details: Record<string, unknown>): Record<string, unknown> | undefined {
  try {
    return jsonCopy(details);
  } catch {
    return undefined;
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof AgentFailure) {
    const { code, message, details } = error;
    const written = details === undefined ? undefined : asJson(details);
    return written === undefined ? { code, message } : { code, message, details: written };
  }
  return { code: "agent_error", message: error instanceof Error ? error.message : String(error) };
}

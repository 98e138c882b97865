/** What to do about a task that failed. */

import { errorTypes } from "../../core/errors.ts";
import type { Failure } from "../../kinds/outcome.ts";

const known: Readonly<Record<string, string>> = {
  agent_error: "The server's log has the place where the agent's code threw it.",
  step_failed: "The task's log has the step and its attempts; the server's log has the place where it threw.",
  tool_failed: "The task's log has the call and its attempts; the server's log has the place where it threw.",
  tool_circuit_open: "The tool failed several times in a row. See to it first.",
  rejected: "The agent does not do such tasks: give it other input, or the task to another agent.",
  approval_denied: "Submit it again if the answer would be another one now.",
  nondeterministic_run:
    "Load the code that the task began with, in a version of its own, or submit it again for the new code.",
  outcome_unknown: "Look for what the tool did, and submit the task again if it did nothing.",
  model_unavailable:
    "See to the model's provider and its key, or name another model in the persona's policy.",
  replay_dependency_unavailable:
    "Give the replay what is missing as an override, or allow it to be done live.",
};

/** What may pass, or is mended outside: the recorded results before it are still good. */
const retryable = new Set([
  "step_failed",
  "tool_failed",
  "step_timeout",
  "tool_timeout",
  "tool_circuit_open",
  "model_unavailable",
]);

export function helpFor({ code, details }: Failure, agent: string): string[] {
  const quotaId = details?.quota_id;
  const page = docsFor(code);
  return [
    ...(typeof quotaId === "string"
      ? [`Raise the limits of quota ${quotaId}, or wait until it starts anew.`]
      : []),
    ...(known[code] === undefined ? [] : [known[code]]),
    ...(retryable.has(code) ? ["Retry it from the step that failed: `bridle task retry`."] : []),
    ...(page === null ? [] : [`${page} explains it.`]),
    ...(known[code] === undefined && page === null
      ? [`The code ${code} is the agent's own: who wrote ${agent} knows what it means.`]
      : []),
  ];
}

/** The page about a code, for codes that the harness itself has. */
export function docsFor(code: string): string | null {
  return Object.hasOwn(errorTypes, code) ? `docs/errors/${code}.md` : null;
}

/** The steps of a run as the log tells them: which event begins a step, which ends it, and what the step is called. */

import type { KernelEvent } from "../core/events.ts";

export interface StepMark {
  key: string;
  /** `attempted`: an attempt failed, and the step goes on. */
  phase: "begun" | "attempted" | "ended";
  /** Which attempt failed. */
  attempt?: number;
}

/** The step that an event is a record of, if it is one. */
export function stepMark(event: KernelEvent): StepMark | null {
  switch (event.event) {
    case "span.started":
      return { key: event.payload.step, phase: "begun" };
    case "vendor.bridle.step.attempt_failed":
      return { key: event.payload.step, phase: "attempted", attempt: event.payload.attempt };
    case "span.completed":
    case "span.failed":
    case "artifact.updated":
    case "user.input_submitted":
    case "user.tool_confirmation":
      return { key: event.payload.step, phase: "ended" };
    case "span.updated":
    case "agent.message":
    case "artifact.created":
      return event.payload.step === undefined ? null : { key: event.payload.step, phase: "ended" };
    case "task.input_required":
    case "task.auth_required":
      return { key: event.payload.request.step, phase: "begun" };
    default:
      return null;
  }
}

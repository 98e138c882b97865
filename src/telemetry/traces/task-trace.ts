/**
 * One task as its trace sees it: a fold over its events that says which steps have ended, and since when they had run. It holds
 * nothing that is not in the log, so whoever comes later, another process above all, makes the same of the same events.
 */

import type { EventKind, KernelEvent, StepSpan } from "../../kernel/core/events.ts";
import type { Failure } from "../../kernel/kinds/outcome.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { stepMark } from "../../kernel/tasks/steps.ts";

export interface StepEnd {
  key: string;
  kind: StepSpan["kind"];
  name: string;
  startedAt: string;
  endedAt: string;
  begun: KernelEvent | null;
  /** Null when the task was over before the step was. */
  ended: KernelEvent | null;
}

export interface TaskEnd {
  status: "completed" | "failed" | "canceled";
  agent: TaskRecord["agent"];
  startedAt: string | null;
  endedAt: string;
  failure: Failure | null;
}

export interface Endings {
  steps: StepEnd[];
  task: TaskEnd | null;
}

const nothing: Endings = { steps: [], task: null };

/** The events that a trace is made of. What else happens to a task, each word of a model among it, is not looked at. */
export const tracedEvents: ReadonlySet<string> = new Set<EventKind>([
  "task.submitted",
  "task.started",
  "task.input_required",
  "task.auth_required",
  "task.completed",
  "task.failed",
  "task.canceled",
  "user.input_submitted",
  "user.tool_confirmation",
  "span.started",
  "span.completed",
  "span.failed",
]);

export class TaskTrace {
  readonly task: TaskRecord;
  #agent: TaskRecord["agent"];
  #startedAt: string | null = null;
  readonly #open = new Map<string, KernelEvent>();

  constructor(task: TaskRecord) {
    this.task = task;
    this.#agent = task.agent;
  }

  /** What came to its end with this event. */
  take(event: KernelEvent): Endings {
    // What a replay copies is no work; what it does live is.
    if (event.replay?.is_copy === true) return nothing;
    switch (event.event) {
      case "task.started":
        this.#agent = event.payload.agent;
        this.#startedAt = event.createdAt;
        return nothing;
      case "task.completed":
        return this.#end(event, "completed", null);
      case "task.failed":
        return this.#end(event, "failed", event.payload.failure);
      case "task.canceled":
        return this.#end(event, "canceled", null);
      default:
        return this.#step(event);
    }
  }

  #step(event: KernelEvent): Endings {
    const mark = stepMark(event);
    if (mark === null || mark.phase === "attempted") return nothing;
    if (mark.phase === "begun") {
      this.#open.set(mark.key, event);
      return nothing;
    }
    const begun = this.#open.get(mark.key) ?? null;
    const about = spanIn(event);
    if (about === null) return nothing;
    this.#open.delete(mark.key);
    const startedAt = begun?.createdAt ?? startOf(event);
    const span = { key: mark.key, ...about, startedAt, endedAt: event.createdAt, begun, ended: event };
    return { steps: [span], task: null };
  }

  #end(event: KernelEvent, status: TaskEnd["status"], failure: Failure | null): Endings {
    const endedAt = event.createdAt;
    const steps = [...this.#open].flatMap(([key, begun]): StepEnd[] => {
      const about = spanIn(begun);
      const times = { startedAt: begun.createdAt, endedAt };
      return about === null ? [] : [{ key, ...about, ...times, begun, ended: null }];
    });
    this.#open.clear();
    return { steps, task: { status, agent: this.#agent, startedAt: this.#startedAt, endedAt, failure } };
  }
}

/** What the step is. A question is named by what it is, not by what it says. */
function spanIn(event: KernelEvent): Pick<StepSpan, "kind" | "name"> | null {
  switch (event.event) {
    case "span.started":
    case "span.completed":
    case "span.failed":
      return { kind: event.payload.kind, name: event.payload.name };
    case "task.input_required":
    case "user.input_submitted":
      return { kind: "ask", name: "ask" };
    case "task.auth_required":
    case "user.tool_confirmation":
      return { kind: "approve", name: "approve" };
    default:
      return null;
  }
}

function startOf(event: KernelEvent): string {
  const isSpan = event.event === "span.completed" || event.event === "span.failed";
  return (isSpan ? event.payload.started_at : undefined) ?? event.createdAt;
}

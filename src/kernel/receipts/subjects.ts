/**
 * Receipts on demand: of an outcome, an event, an artifact or a tool call of a task. They are drafted from the same log as the receipt of the
 * task, as far as it is about their subject, up to the moment in which somebody asked.
 */

import { hash } from "node:crypto";
import { hashOf } from "../../receipts/canonical.ts";
import type { Receipt } from "../../receipts/schema.ts";
import { eventId, type RecordedEvent } from "../core/events.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { Failure } from "../kinds/outcome.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { draftTaskReceipt, failureCuts, failureIn, type ReceiptDraft } from "./drafts.ts";
import { TaskFacts } from "./facts.ts";

export type SubjectKind = "outcome" | "event" | "artifact" | "tool_call";

export interface RequestedSubject {
  object: SubjectKind;
  id: string;
}

/** Events of a subject that are named one by one. */
const namedMax = 100;

/**
 * The same subject has the same receipt. The task is part of the name: its id is nobody else's, while numbers of events repeat on every
 * server and can be foreseen.
 */
export function receiptIdOf(taskId: string, { object, id }: { object: string; id: string }): string {
  return `receipt_subject_${hash("sha256", `${taskId} ${object} ${id}`, "hex").slice(0, 32)}`;
}

/** A step of a task, as the subject of a receipt. */
export function toolCallId(taskId: string, step: string): string {
  return `${taskId}/${step}`;
}

export function splitToolCallId(id: string): { taskId: string; step: string } | null {
  const slash = id.indexOf("/");
  return slash < 1 ? null : { taskId: id.slice(0, slash), step: id.slice(slash + 1) };
}

/** Whether an event of the task's log is about the subject. */
export function isAbout({ object, id }: RequestedSubject, event: RecordedEvent): boolean {
  switch (object) {
    case "outcome":
      return true;
    case "event":
      return eventId(event.position) === id;
    case "artifact":
      return event.resource.id === id;
    case "tool_call":
      return "step" in event.payload && event.payload.step === splitToolCallId(id)?.step;
  }
}

/** What the log says about a subject, event by event. */
export class SubjectFacts {
  readonly #subject: RequestedSubject;
  readonly facts = new TaskFacts();
  readonly #named: string[] = [];
  readonly #hashes: string[] = [];
  #first: RecordedEvent | null = null;
  #last: RecordedEvent | null = null;

  constructor(subject: RequestedSubject) {
    this.#subject = subject;
  }

  add(event: RecordedEvent): void {
    if (!isAbout(this.#subject, event)) return;
    this.facts.add(event);
    this.facts.noteRedactions(JSON.stringify(event.payload));
    this.#first ??= event;
    this.#last = event;
    if (this.#named.length >= namedMax) return;
    this.#named.push(eventId(event.position));
    const { event: kind, resource, actor, createdAt, payload } = event;
    const said = { event: kind, resource, actor, created_at: createdAt, payload };
    this.#hashes.push(hashWellFormed(JSON.parse(JSON.stringify(said)), hashOf));
  }

  get isEmpty(): boolean {
    return this.#first === null;
  }

  draft(receiptId: string, task: TaskRecord, at: string): ReceiptDraft {
    const [first, last] = [this.#first, this.#last];
    if (first === null || last === null) throw new Error(`Nothing in the log is about ${this.#subject.id}`);
    const isOutcome = this.#subject.object === "outcome";
    const failure = isOutcome ? task.failure : failureOf(last);
    const status = isOutcome ? statusOf(task) : failure === null ? "COMPLETED" : "FAILED";
    const draft = draftTaskReceipt({
      receiptId,
      task,
      ending: { status, failure },
      facts: this.facts,
      at: isOutcome ? (task.completed_at ?? task.canceled_at ?? at) : last.createdAt,
    });
    const subject = { object: this.#subject.object, id: this.#subject.id };
    if (isOutcome) return { ...draft, subject, issued_at: at };
    const { object, id } = this.#subject;
    return {
      ...draft,
      subject,
      issued_at: at,
      lifecycle: {
        created_at: first.createdAt,
        started_at: startOf(last) ?? first.createdAt,
        completed_at: last.createdAt,
        final_state: status === "COMPLETED" ? "SUCCEEDED" : "FAILED",
        failure: failureIn(failure),
      },
      autonomy_budget: {
        consumed: {
          ...draft.autonomy_budget.consumed,
          wall_time_ms: Date.parse(last.createdAt) - Date.parse(startOf(last) ?? first.createdAt),
        },
      },
      replay_input: this.#replayInput(task, `${object}_${id}`),
      redactions: [
        {
          field: "/replay_input/materials/0/content",
          reason: "kept in the event log",
          proof_hash: hashOf(this.#hashes),
        },
        ...failureCuts(failure),
      ],
    };
  }

  /** A part of a run is evidence; it is the task that can be run again. */
  #replayInput({ id }: TaskRecord, name: string): Receipt["replay_input"] {
    return {
      determinism: "unavailable",
      materials: [
        {
          kind: "event_log",
          id: `event_log_${name}`,
          uri: `/v1/tasks/${id}/events`,
          sha256: hashOf(this.#hashes),
          content_type: "application/json",
          metadata: { event_ids: this.#named },
        },
      ],
      unavailable_reason: `it is a part of ${id}: replay that task`,
    };
  }
}

function statusOf({ status }: TaskRecord): "COMPLETED" | "FAILED" | "CANCELED" {
  return status === "COMPLETED" || status === "CANCELED" ? status : "FAILED";
}

function startOf({ payload }: RecordedEvent): string | undefined {
  return "started_at" in payload && typeof payload.started_at === "string" ? payload.started_at : undefined;
}

function failureOf({ payload }: RecordedEvent): Failure | null {
  return "result" in payload && "error" in payload.result ? payload.result.error : null;
}

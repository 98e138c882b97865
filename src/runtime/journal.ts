/**
 * The journal of a run: what the log says about each step, by its key.
 *
 * A step can have begun (a question was asked, a child was spawned) and can have ended (an answer, a result). On
 * re-execution the code takes its steps out again; what is left over when it asks for something new shows that the
 * code has changed.
 */

import { asKernelEvent, type KernelEvent } from "../kernel/events.ts";
import type { Store } from "../store/port.ts";

const pageSize = 500;

export interface JournalEntry {
  begun: KernelEvent | null;
  ended: KernelEvent | null;
}

export class Journal {
  /** What the code has not asked for yet, in the order in which it was first recorded. */
  readonly #entries: Map<string, JournalEntry>;
  /** The steps that ended, in the order in which they did. */
  readonly #endings: string[];
  #given = 0;

  constructor(entries: Map<string, JournalEntry> = new Map(), endings: string[] = []) {
    this.#entries = entries;
    this.#endings = endings;
  }

  static async read(store: Store, taskId: string): Promise<Journal> {
    const entries = new Map<string, JournalEntry>();
    const endings: string[] = [];
    let after = 0;
    while (true) {
      const page = await store.events({ taskId, after, limit: pageSize });
      for (const stored of page) {
        const event = asKernelEvent(stored);
        const mark = markOf(event);
        if (mark === null) continue;
        const entry = entries.get(mark.key) ?? { begun: null, ended: null };
        entry[mark.phase] = event;
        if (mark.phase === "ended") endings.push(mark.key);
        entries.set(mark.key, entry);
      }
      after = page.at(-1)?.position ?? after;
      if (page.length < pageSize) return new Journal(entries, endings);
    }
  }

  /** What was recorded of a step, once. */
  take(key: string): JournalEntry | undefined {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    return entry;
  }

  /** Whether a recorded step has not been asked for yet. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** The step whose result comes next: results are given again in the order in which they came. */
  get nextEnding(): string | undefined {
    return this.#endings[this.#given];
  }

  /** The next result has been given. */
  ended(): void {
    this.#given += 1;
  }

  /** The earliest recorded step that the code has not asked for. */
  get firstLeft(): string | undefined {
    return this.#entries.keys().next().value;
  }
}

function markOf(event: KernelEvent): { key: string; phase: "begun" | "ended" } | null {
  switch (event.event) {
    case "span.started":
      return { key: event.payload.step, phase: "begun" };
    case "span.completed":
    case "span.failed":
      return { key: event.payload.step, phase: "ended" };
    case "span.updated":
      return event.payload.step === undefined ? null : { key: event.payload.step, phase: "ended" };
    case "agent.message":
    case "artifact.created":
      return event.payload.step === undefined ? null : { key: event.payload.step, phase: "ended" };
    case "artifact.updated":
      return { key: event.payload.step, phase: "ended" };
    case "task.input_required":
    case "task.auth_required":
      return { key: event.payload.request.step, phase: "begun" };
    case "user.input_submitted":
    case "user.tool_confirmation":
      return { key: event.payload.step, phase: "ended" };
    default:
      return null;
  }
}

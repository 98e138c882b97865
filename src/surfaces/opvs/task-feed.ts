/**
 * What happens to a task from its first event on, for the one who is about to submit it: the answer is made from what
 * was just recorded, without reading it back.
 */

import { askingEvents, asRecorded, type RecordedEvent, terminalEvents } from "../../kernel/core/events.ts";
import type { LogTail } from "../../kernel/core/log-tail.ts";

/** A task with more events than this is read from the log. */
const eventsMax = 200;

export class TaskFeed implements Disposable {
  readonly #events: RecordedEvent[] = [];
  #isWhole = true;
  #settle = () => {};
  readonly #settled: Promise<void>;
  readonly #stop: () => void;
  #signal: AbortSignal | null = null;

  constructor(tail: LogTail, taskId: string) {
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#stop = tail.on(`task:${taskId}`, (stored) => {
      const event = asRecorded(stored);
      if (this.#events.length < eventsMax) this.#events.push(event);
      else this.#isWhole = false;
      if (terminalEvents.has(event.event) || askingEvents.has(event.event)) this.#settle();
    });
  }

  /** All of its events so far; null when there were too many to keep. */
  get events(): readonly RecordedEvent[] | null {
    return this.#isWhole ? this.#events : null;
  }

  /** Resolves when the task has ended or waits for somebody, or when it is no longer worth waiting. */
  settled(signal: AbortSignal): Promise<void> {
    if (signal.aborted) this.#settle();
    else signal.addEventListener("abort", this.#settle);
    this.#signal = signal;
    return this.#settled;
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.#signal?.removeEventListener("abort", this.#settle);
  }
}

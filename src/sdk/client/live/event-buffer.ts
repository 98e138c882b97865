/**
 * Events that have arrived and were not read yet: a bounded number of them. When there are more, those that arrive are not taken, and come
 * again, from the log, when all that were taken have been read.
 */

import type { BridleEvent } from "../types.ts";

const eventsMax = 1000;
const charsMax = 16 * 1024 * 1024;

export class EventBuffer {
  readonly #events: { event: BridleEvent; chars: number }[] = [];
  readonly #onChange: () => void;
  #chars = 0;
  #isBehind = false;
  #isOver = false;
  #failure: unknown = null;
  #arrived = Promise.withResolvers<void>();
  /** The last event that was taken: the next connection goes on after it. */
  #taken: string | null;
  #given: string | null;

  /** `onChange` is called when it has no more room, or has room again. */
  constructor(after: string | null, onChange: () => void) {
    this.#taken = after;
    this.#given = after;
    this.#onChange = onChange;
  }

  /** More has happened than there is room for. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  get taken(): string | null {
    return this.#taken;
  }

  get given(): string | null {
    return this.#given;
  }

  /** Where it begins, when nobody said so. */
  beginAfter(cursor: string): void {
    this.#taken ??= cursor;
    this.#given ??= cursor;
  }

  take(event: BridleEvent, chars: number): void {
    // Ids sort as the log does: what came before is not taken twice.
    if (this.#isBehind || (this.#taken !== null && event.id <= this.#taken)) return;
    const isFull = this.#events.length >= eventsMax || this.#chars + chars > charsMax;
    // One event alone is always taken, however large it is.
    if (isFull && this.#events.length > 0) {
      this.#isBehind = true;
      this.#onChange();
      return;
    }
    this.#events.push({ event, chars });
    this.#chars += chars;
    this.#taken = event.id;
    this.#wake();
  }

  /** The next event; null when there will be none any more. What was taken before it failed is given first. */
  async next(): Promise<BridleEvent | null> {
    while (true) {
      const next = this.#events.shift();
      if (next !== undefined) {
        this.#chars -= next.chars;
        this.#given = next.event.id;
        return next.event;
      }
      if (this.#failure !== null) throw this.#failure;
      if (this.#isOver) return null;
      if (this.#isBehind) {
        this.#isBehind = false;
        this.#onChange();
      }
      await this.#arrived.promise;
    }
  }

  /** What was taken is still given, unless it is to end at once. */
  end(failure: unknown, isAtOnce: boolean): void {
    this.#isOver = true;
    if (isAtOnce) this.#events.length = 0;
    this.#failure ??= failure;
    this.#wake();
  }

  #wake(): void {
    this.#arrived.resolve();
    this.#arrived = Promise.withResolvers<void>();
  }
}

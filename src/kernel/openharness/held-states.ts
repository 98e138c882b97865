/**
 * Secret state of shells, for as long as their runs may need it: in memory only, bounded in number, size and time. What is
 * not here any more is gone, and whoever needs it asks for it again.
 */

import type { JsonObject } from "../../store/port.ts";
import { type Clock, steadyNow } from "../core/clock.ts";

/** States of all runs together; the oldest of more are dropped. */
const statesMax = 1000;
const bytesMax = 16 * 1024 * 1024;
/** States of one run: a run that is repeated may look at an earlier one again. */
const statesOfRunMax = 4;
/** Long enough for a person at the shell, short enough not to lie around. */
export const heldMsDefault = 60 * 60 * 1000;

interface Held {
  taskId: string;
  keyedHash: string;
  state: JsonObject;
  bytes: number;
  until: number;
}

export class HeldStates {
  readonly #clock: Clock;
  readonly #heldMs: number;
  /** In the order in which they came. */
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  constructor(clock: Clock, heldMs: number = heldMsDefault) {
    this.#clock = clock;
    this.#heldMs = heldMs;
  }

  keep(taskId: string, keyedHash: string, state: JsonObject, bytes: number): void {
    const key = keyOf(taskId, keyedHash);
    this.#drop(key);
    this.#held.set(key, { taskId, keyedHash, state, bytes, until: steadyNow(this.#clock) + this.#heldMs });
    this.#bytes += bytes;
    const [oldest, ...others] = this.#of(taskId);
    if (oldest !== undefined && others.length >= statesOfRunMax) this.#drop(oldest);
    this.#dropOverdue();
    for (const first of this.#held.keys()) {
      if (this.#held.size <= statesMax && this.#bytes <= bytesMax) break;
      this.#drop(first);
    }
  }

  find(taskId: string, keyedHash: string): JsonObject | undefined {
    this.#dropOverdue();
    return this.#held.get(keyOf(taskId, keyedHash))?.state;
  }

  /** The run has ended. */
  forget(taskId: string): void {
    if (this.#held.size === 0) return;
    for (const key of this.#of(taskId)) this.#drop(key);
  }

  #of(taskId: string): string[] {
    return [...this.#held].flatMap(([key, held]) => (held.taskId === taskId ? [key] : []));
  }

  /** All are held equally long, so those that came first are over first. */
  #dropOverdue(): void {
    const now = steadyNow(this.#clock);
    for (const [key, { until }] of this.#held) {
      if (until > now) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#held.get(key)?.bytes ?? 0;
    this.#held.delete(key);
  }
}

function keyOf(taskId: string, keyedHash: string): string {
  return `${taskId} ${keyedHash}`;
}

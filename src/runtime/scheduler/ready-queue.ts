/**
 * What could be worked on now, fair between those it is for (sessions, tenants): each one's turn comes round, however many
 * items another one has queued. Bounded; what does not fit stays on disk and is found again by the next sweep.
 */

export interface Ready {
  id: string;
  /** For whom it is. */
  turn: string;
}

export class ReadyQueue {
  readonly #max: number;
  readonly #byTurn = new Map<string, string[]>();
  readonly #queued = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#queued.size;
  }

  /** False when there is no room. */
  add(id: string, turn: string): boolean {
    if (this.#queued.has(id)) return true;
    if (this.#queued.size >= this.#max) return false;
    this.#queued.add(id);
    const ids = this.#byTurn.get(turn);
    if (ids === undefined) this.#byTurn.set(turn, [id]);
    else ids.push(id);
    return true;
  }

  /** The next item of the one whose turn it is, who then goes to the end of the line. */
  next(): Ready | undefined {
    const first = this.#byTurn.entries().next();
    if (first.done) return undefined;
    const [turn, ids] = first.value;
    const id = ids.shift();
    this.#byTurn.delete(turn);
    if (id === undefined) return undefined;
    if (ids.length > 0) this.#byTurn.set(turn, ids);
    this.#queued.delete(id);
    return { id, turn };
  }
}

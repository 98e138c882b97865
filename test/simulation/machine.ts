/**
 * One simulated machine room: time, the order of everything that happens, and chance, all from one seed. Nothing waits for real time.
 *
 * Whatever would come from outside a process's own code (a timer, an answer of the disk or the network, the next turn of its event
 * loop) is an entry of one agenda. `step` takes the next entry, and everything that follows from it in microtasks belongs to that step.
 * An entry has an owner: a process, or somebody outside. A process that is killed loses its entries, so it ends between two steps:
 * between them nothing reaches disk or network, so this is the same as ending at any await.
 */

/** Turns of an event loop are not free; code that polls in turns gets on by this. */
const turnMs = 0.05;

export class Owner {
  readonly name: string;
  isDead = false;
  /** A stopped process (SIGSTOP) has its entries until it goes on. */
  frozenUntil = 0;
  readonly #mourners: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  onDeath(callback: () => void): void {
    if (this.isDead) callback();
    else this.#mourners.push(callback);
  }

  die(): void {
    if (this.isDead) return;
    this.isDead = true;
    for (const callback of this.#mourners.splice(0)) callback();
  }
}

interface Entry {
  at: number;
  order: number;
  owner: Owner;
  callback: () => void;
}

export class Machine {
  /** Milliseconds that nobody sets. */
  now = 0;
  /** What clocks on the wall show beyond that. */
  wallOffset = Date.UTC(2026, 0, 1);
  steps = 0;
  readonly outside = new Owner("outside");
  owner: Owner = this.outside;
  readonly random: () => number;
  readonly #agenda: Entry[] = [];
  #order = 0;

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  wall(): number {
    return Math.floor(this.now + this.wallOffset);
  }

  /** A whole number from 0 up to and not including `max`. */
  below(max: number): number {
    return Math.floor(this.random() * max);
  }

  /** Mostly short, sometimes long: what disks and networks take. */
  latency(usualMs: number, mostMs: number): number {
    return this.random() < 0.9 ? this.random() * usualMs : this.random() * mostMs;
  }

  /** Runs later on behalf of an owner, of the current one unless said. Returns the way to prevent it. */
  after(ms: number, callback: () => void, owner = this.owner): () => void {
    const entry = { at: this.now + Math.max(0, ms), order: this.#order++, owner, callback };
    this.#push(entry);
    return () => {
      entry.callback = nothing;
    };
  }

  turn(callback: () => void): () => void {
    return this.after(0, callback);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  /** Runs what is next; false when nothing is left. */
  step(): boolean {
    const entry = this.#pop();
    if (entry === undefined) return false;
    const { owner } = entry;
    this.now = Math.max(this.now + turnMs, entry.at);
    if (owner.isDead || entry.callback === nothing) return true;
    if (owner.frozenUntil > this.now) {
      this.#push({ ...entry, at: owner.frozenUntil, callback: () => entry.callback() });
      return true;
    }
    this.steps += 1;
    this.owner = owner;
    entry.callback();
    return true;
  }

  #push(entry: Entry): void {
    const heap = this.#agenda;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): Entry | undefined {
    const heap = this.#agenda;
    const [first] = heap;
    const last = heap.pop();
    if (last === undefined || last === first) return first;
    let index = 0;
    while (true) {
      const child = childBefore(heap, index);
      const entry = heap[child];
      if (entry === undefined || !isBefore(entry, last)) break;
      heap[index] = entry;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function nothing(): void {}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function childBefore(heap: readonly Entry[], index: number): number {
  const [left, right] = [heap[2 * index + 1], heap[2 * index + 2]];
  return right !== undefined && left !== undefined && isBefore(right, left) ? 2 * index + 2 : 2 * index + 1;
}

/** Mulberry32: small, and good enough for neighbouring seeds to have nothing in common. */
export function randomOf(seed: number): () => number {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * A bounded map that forgets what nobody asks for: two generations, and when the young one is full it becomes the old one
 * and the old one is dropped. Cheaper than keeping every entry in order of use, and as good.
 */

export class Generations<Value> {
  readonly #weightMax: number;
  #young = new Map<string, { value: Value; weight: number }>();
  #old = new Map<string, { value: Value; weight: number }>();
  #weight = 0;

  /** Each generation holds up to this much weight. */
  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young.value;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old.value, old.weight);
    return old?.value;
  }

  set(key: string, value: Value, weight = 1): void {
    this.#weight += weight - (this.#young.get(key)?.weight ?? 0);
    this.#young.set(key, { value, weight });
    if (this.#weight <= this.#weightMax) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#weight = 0;
  }

  delete(key: string): void {
    this.#weight -= this.#young.get(key)?.weight ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
    this.#weight = 0;
  }
}

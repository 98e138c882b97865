/** Values of labels. Each value is a series of its own for as long as the process lives, so that nobody outside may choose one. */

export const other = "other";

/** The value if it is one of those that there are. */
export function oneOf(known: ReadonlySet<string>, value: string): string {
  return known.has(value) ? value : other;
}

/** For what only our own configuration leads to, but nobody lists: the first that are seen have names. */
export class FirstSeen {
  readonly #seen = new Set<string>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  label(value: string): string {
    if (this.#seen.has(value)) return value;
    if (this.#seen.size >= this.#max) return other;
    this.#seen.add(value);
    return value;
  }
}

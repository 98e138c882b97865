/** Going through a text once, from left to right, and putting it together again. */

/** The end of an escape, whose last letter is not that of the word behind it: `\n`, `%3D`, the end of a terminal colour. */
export const escapeEnd = String.raw`\\[nrtbf]|\\u[0-9a-f]{4}|%[0-9A-Fa-f]{2}|\u001b\[[0-9;]{0,12}m`;

/** A text with some spans replaced, from left to right. */
export class Pieces {
  readonly #text: string;
  #pieces: string[] = [];
  #copied = 0;
  /** Everything before is settled. */
  end = 0;

  constructor(text: string) {
    this.#text = text;
  }

  keep(end: number): void {
    this.end = end;
  }

  replace(start: number, end: number, by: string): void {
    this.#pieces.push(this.#text.slice(this.#copied, start), by);
    this.#copied = end;
    this.end = end;
  }

  join(): string {
    return this.#copied === 0 ? this.#text : this.#pieces.join("") + this.#text.slice(this.#copied);
  }
}

/** Like `matchAll`, but leaps over what was settled in the meantime. */
export function* from(pattern: RegExp, text: string, settled: () => number): Generator<RegExpExecArray> {
  let at = 0;
  for (let found = firstFrom(pattern, text, at); found !== null; found = firstFrom(pattern, text, at)) {
    at = found.index + found[0].length;
    yield found;
    at = Math.max(at, settled());
  }
}

export function firstFrom(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** For sticky patterns. */
export const matchAt = firstFrom;

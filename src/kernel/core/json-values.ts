/**
 * How many values a JSON text holds, counted before it is parsed. What a text costs depends on that rather than on its bytes: 4 MiB of text
 * take a few milliseconds, 4 MiB of `{}` would take seconds.
 */

/** The members of objects and the items of arrays that a body can have. Parsing, checking and redacting them takes about 50 ms. */
export const valuesMax = 10_000;
/** A shorter text cannot hold more: a value takes two bytes at least, as in "1,1". */
export const countedBytesMin = 2 * valuesMax;

const [quote, backslash, comma, bracket, brace] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** Counts the values in a JSON text that arrives in pieces. Every value but the outermost follows a comma or an opening. */
export class ValueCounter {
  #count = 0;
  #isInString = false;
  #isEscaped = false;

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#isInString) at = this.#skipString(bytes, at);
      else {
        const byte = bytes[at];
        if (byte === quote) this.#isInString = true;
        else if (byte === comma || byte === bracket || byte === brace) this.#count += 1;
        at += 1;
      }
    }
  }

  /** To the next quote, which is the end of the string unless an odd number of backslashes stands before it. */
  #skipString(bytes: Uint8Array, from: number): number {
    const found = bytes.indexOf(quote, from);
    const end = found === -1 ? bytes.length : found;
    let before = end;
    while (before > from && bytes[before - 1] === backslash) before -= 1;
    const isOdd = (end - before) % 2 === 1;
    // A run of backslashes can have begun in the piece before.
    const isEscaped = before === from ? isOdd !== this.#isEscaped : isOdd;
    this.#isEscaped = found === -1 && isEscaped;
    this.#isInString = found === -1 || isEscaped;
    return end + 1;
  }

  get count(): number {
    return this.#count;
  }

  get isOver(): boolean {
    return this.#count > valuesMax;
  }
}

export function countValues(bytes: Uint8Array): number {
  const counter = new ValueCounter();
  counter.add(bytes);
  return counter.count;
}

/** Whether a JSON text has more values than are read. */
export function hasTooManyValues(bytes: Uint8Array): boolean {
  if (bytes.length < countedBytesMin) return false;
  return countValues(bytes) > valuesMax;
}

/**
 * One after the other for each key: whoever changes an exchange waits for the one before instead of losing against it.
 * Nothing rests on this but speed; what is written is checked by its version.
 */

export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(work);
    const settled = done.then(
      () => {},
      () => {},
    );
    this.#last.set(key, settled);
    try {
      return await done;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}

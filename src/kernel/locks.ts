/**
 * Taking turns inside one process. Versions already keep two decisions from contradicting each other; this keeps a slow
 * decision from being overtaken again and again by quick ones.
 */

export type Release = () => void;

export class Locks {
  readonly #last = new Map<string, Promise<void>>();

  /** Resolves when everybody who asked before has released. */
  async acquire(id: string): Promise<Release> {
    const before = this.#last.get(id);
    let release: Release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#last.set(id, held);
    if (before !== undefined) await before;
    return () => {
      if (this.#last.get(id) === held) this.#last.delete(id);
      release();
    };
  }
}

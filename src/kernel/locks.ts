/**
 * Taking turns inside one process. Versions already keep two decisions from contradicting each other; this keeps a slow
 * decision from being overtaken again and again by quick ones.
 */

export type Release = () => void;

/**
 * Who holds something may wait for what comes after it, never for what comes before: tasks come first, a parent before
 * its children, then quotas by their ids. So nobody waits in a circle.
 */
export class OutOfTurn extends Error {
  /** What has to be held from the start, in order. */
  readonly ids: readonly string[];

  constructor(held: Iterable<string>, wanted: string) {
    super(`${wanted} is held by somebody else, and comes before what is held`);
    const ids = [...held, wanted];
    this.ids = [...ids.filter((id) => !isQuota(id)), ...ids.filter(isQuota).sort()];
  }
}

export function comesBefore(wanted: string, held: string): boolean {
  return isQuota(held) && (!isQuota(wanted) || wanted < held);
}

function isQuota(id: string): boolean {
  return id.startsWith("quota_");
}

export class Locks {
  readonly #last = new Map<string, Promise<void>>();

  isFree(id: string): boolean {
    return !this.#last.has(id);
  }

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

/**
 * Taking turns inside one process. Versions already keep two decisions from contradicting each other; this keeps a slow
 * decision from being overtaken again and again by quick ones.
 */

export type Release = () => void;

/**
 * Who holds something may wait for what comes after it, never for what comes before: tasks come first, a parent before
 * its children, then quotas by their ids, then audit logs by theirs. So nobody waits in a circle.
 */
export class OutOfTurn extends Error {
  /** What has to be held from the start, in order. */
  readonly ids: readonly string[];

  constructor(held: Iterable<string>, wanted: string) {
    super(`${wanted} is held by somebody else, and comes before what is held`);
    const ids = [...held, wanted];
    const inOrder = (from: number) => ids.filter((id) => rankOf(id) === from);
    this.ids = [...inOrder(0), ...inOrder(1).sort(), ...inOrder(2).sort()];
  }
}

export function comesBefore(wanted: string, held: string): boolean {
  const rank = rankOf(held);
  return rank > rankOf(wanted) || (rank > 0 && rank === rankOf(wanted) && wanted < held);
}

function rankOf(id: string): number {
  if (id.startsWith("audit_log_")) return 2;
  return id.startsWith("quota_") ? 1 : 0;
}

export class Locks {
  readonly #last = new Map<string, Promise<void>>();

  /** Without waiting, where nobody holds it; null otherwise. */
  acquireNow(id: string): Release | null {
    return this.#last.has(id) ? null : this.#queue(id);
  }

  /** Resolves when everybody who asked before has released. */
  async acquire(id: string): Promise<Release> {
    const before = this.#last.get(id);
    const release = this.#queue(id);
    if (before !== undefined) await before;
    return release;
  }

  #queue(id: string): Release {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(id, promise);
    return () => {
      if (this.#last.get(id) === promise) this.#last.delete(id);
      resolve();
    };
  }
}

/** The store of a process that can be killed: once the process is dead, nothing it does is written and nobody answers it. */

import { never } from "../runtime/run/promises.ts";
import type { Batch, StoredEvent } from "../store/port.ts";
import type { WholeStore } from "../store/whole-store.ts";

export interface Death {
  /** Whether the process dies with this batch on its way to the disk: the batch is lost. */
  before?(batch: Batch): boolean;
  /** Whether the process dies once these events are on disk, before it hears that they are. */
  after?(events: readonly StoredEvent[]): boolean;
}

export function mortalStore(store: WholeStore, death: Death): { store: WholeStore; killed: Promise<void> } {
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
  let isDead = false;
  const die = () => {
    isDead = true;
    kill();
  };
  store.follow((events) => {
    if (!isDead && death.after?.(events) === true) die();
  });
  return {
    killed,
    store: {
      ...store,
      async commit(batch) {
        if (!isDead && death.before?.(batch) === true) die();
        if (isDead) return await never();
        const events = await store.commit(batch);
        return isDead ? await never() : events;
      },
      follow: (listener) =>
        store.follow((events) => {
          if (!isDead) listener(events);
        }),
    },
  };
}

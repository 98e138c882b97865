/** Folds every document again from the whole log: what the documents must be, if the log is the truth. */

import type { Store } from "../store/port.ts";
import { asKernelEvent } from "./events.ts";
import { type AnyRecord, alsoChanged, changed, created } from "./fold.ts";
import { readLog } from "./log-tail.ts";

export async function refold(store: Store): Promise<Map<string, AnyRecord>> {
  const records = new Map<string, AnyRecord>();
  for await (const events of readLog(store, { after: 0 })) {
    for (const stored of events) {
      const event = asKernelEvent(stored);
      for (const record of created(event)) records.set(record.id, record);
      for (const id of [event.resource.id, ...alsoChanged(event)]) {
        const current = records.get(id);
        if (current === undefined) throw new Error(`Event ${stored.position} changes ${id}, unknown`);
        records.set(current.id, changed(current, event));
      }
    }
  }
  return records;
}

/** Erases resources whose events belong to no session: those of a tenant, or what a session owns beside its log. */

import { systemCaller } from "../../../policy/caller.ts";
import type { StoredEvent, TenantStore } from "../../../store/port.ts";
import { runCommand } from "../../core/dispatch.ts";
import type { Kind } from "../../core/fold.ts";
import { type LogFilter, readLog } from "../../core/log-tail.ts";
import type { WholeDeps } from "../../core/unit.ts";
import { eraseAnswers, eraseEvents } from "./erase-events.ts";

/** Gives the hashes of what it was. */
export async function eraseLoose(
  deps: WholeDeps,
  tenantId: string,
  isErased: (resource: StoredEvent["resource"]) => boolean,
): Promise<Set<string>> {
  const byResource = new Map<string, { kind: Kind; found: StoredEvent[] }>();
  let through = 0;
  for await (const events of readLog(deps.store.of(tenantId), { after: 0 })) {
    for (const event of events) {
      const { id, object } = event.resource;
      through = event.position;
      if (event.sessionId !== null || !isErased(event.resource)) continue;
      // The log is written by this kernel only: what an event is about is a kind of record.
      const of = byResource.get(id) ?? { kind: object as Kind, found: [] };
      of.found.push(event);
      byResource.set(id, of);
    }
  }
  const hashes = new Set<string>();
  for (const [id, { kind, found }] of byResource) {
    let events = found;
    await runCommand(deps, eraseEvents, systemCaller(tenantId), {
      growing: { kind, id },
      async read(store) {
        events = [...found, ...(await eventsSince(store, { after: through }, id))];
        return events;
      },
    });
    await eraseAnswers(deps.store, tenantId, id);
    for (const [sha256] of JSON.stringify(events).matchAll(/(?<="(sha256|blob)":")[0-9a-f]{64}(?=")/g))
      hashes.add(sha256);
  }
  return hashes;
}

async function eventsSince(store: TenantStore, filter: LogFilter, id: string): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const events of readLog(store, filter)) {
    found.push(...events.filter(({ resource }) => resource.id === id));
  }
  return found;
}

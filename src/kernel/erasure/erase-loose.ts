/** Erases resources whose events belong to no session: those of a tenant, or what a session owns beside its log. */

import { systemCaller } from "../../policy/caller.ts";
import type { StoredEvent } from "../../store/port.ts";
import { carryOut } from "../dispatch.ts";
import { readLog } from "../log-tail.ts";
import type { KernelDeps } from "../unit.ts";
import { eraseAnswers, eraseEvents } from "./erase-events.ts";

/** Gives the hashes of what it was. */
export async function eraseLoose(
  deps: KernelDeps,
  tenantId: string,
  isErased: (resource: StoredEvent["resource"]) => boolean,
): Promise<Set<string>> {
  const byResource = new Map<string, StoredEvent[]>();
  for await (const events of readLog(deps.store, { tenantId, after: 0 })) {
    for (const event of events) {
      const { id } = event.resource;
      if (event.sessionId !== null || !isErased(event.resource)) continue;
      byResource.set(id, [...(byResource.get(id) ?? []), event]);
    }
  }
  const hashes = new Set<string>();
  for (const [id, events] of byResource) {
    await carryOut(deps, eraseEvents, systemCaller(tenantId), { read: async () => events });
    await eraseAnswers(deps.store, id);
    for (const [sha256] of JSON.stringify(events).matchAll(/(?<="(sha256|blob)":")[0-9a-f]{64}(?=")/g))
      hashes.add(sha256);
  }
  return hashes;
}

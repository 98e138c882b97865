/** Replaces the content of events, of the records folded from them, and of answers kept for repeated requests. */

import type { OnceRecord, Rewrite, StoredEvent, TenantStore } from "../../../store/port.ts";
import type { WholeStore } from "../../../store/whole-store.ts";
import type { Command } from "../../core/dispatch.ts";
import { asKernelEvent, type KernelEvent } from "../../core/events.ts";
import { type AnyRecord, changed, created, type Kind } from "../../core/fold.ts";
import { readPages } from "../../core/read-pages.ts";
import { redactContent } from "./redact.ts";

const pageSize = 100;

export interface EraseEvents {
  /** Gives all events of every resource that it gives one of. */
  read(store: TenantStore): Promise<StoredEvent[]>;
  /** A resource to which events may come while they are read; then they are read again. */
  growing?: { kind: Kind; id: string };
}

export const eraseEvents: Command<EraseEvents, null> = {
  name: "erase_events",
  scope: "admin",
  decide(unit, { read, growing }) {
    if (growing !== undefined) {
      // In turns with those who add to it, or it could be overtaken for ever.
      unit.hold(growing.id);
      // Loaded first: whatever is recorded after this is a conflict, and not a gap in what is folded again.
      unit.findAsSystem(growing.kind, growing.id);
    }
    const { changes, records } = unit.awaited("erased", () => readErased(unit.own, read));
    if (changes.length > 0) unit.rewrite(changes, records);
    return null;
  },
};

/** How the events with content change, and the records that are folded from them. */
async function readErased(
  own: TenantStore,
  read: EraseEvents["read"],
): Promise<{ changes: Rewrite[]; records: AnyRecord[] }> {
  const events = (await read(own)).filter(({ resource }) => holdsContent(resource.object));
  const changes: Rewrite[] = [];
  const erased: StoredEvent[] = [];
  for (const event of events) {
    const after = await eraseEvent(event, own);
    erased.push(after);
    const { position, payload, replay } = after;
    if (JSON.stringify(after) !== JSON.stringify(event)) changes.push({ position, payload, replay });
  }
  return { changes, records: refolded(erased) };
}

/** Receipts hold hashes, are signed, and stay as they are. */
export function holdsContent(object: string): boolean {
  return !object.startsWith("receipt");
}

async function eraseEvent(event: StoredEvent, store: TenantStore): Promise<StoredEvent> {
  const redacted = { ...event, payload: await redactContent(event.payload, store) };
  const payload = markErased(asKernelEvent(redacted));
  if (event.replay === undefined) return { ...event, payload };
  return { ...event, payload, replay: await redactContent(event.replay, store) };
}

/** An artifact that came in chunks has its bytes from the last of them; that one says that they are gone. */
function markErased(event: KernelEvent): object {
  if (event.event !== "artifact.updated" || event.payload.completed === null) return event.payload;
  return { ...event.payload, completed: { ...event.payload.completed, is_erased: true } };
}

/** The fold of the events as they will be (E2). */
function refolded(events: readonly StoredEvent[]): AnyRecord[] {
  const records = new Map<string, AnyRecord>();
  for (const event of events.map(asKernelEvent)) {
    for (const record of created(event)) records.set(record.id, record);
    const current = records.get(event.resource.id);
    if (current !== undefined) records.set(current.id, changed(current, event));
  }
  return [...records.values()];
}

/** The answers to repeated requests are records as well: all that name the session, or the resource. */
export async function eraseAnswers(store: WholeStore, tenantId: string, id: string): Promise<void> {
  const pages = readPages<OnceRecord>((last) =>
    store.onceWith({ text: id, afterKey: last?.key ?? "", limit: pageSize }),
  );
  for await (const found of pages) {
    const rewriteOnce = [];
    for (const { key, result } of found) {
      const value: unknown = JSON.parse(result);
      if (typeof value !== "object" || value === null) continue;
      rewriteOnce.push({ key, result: JSON.stringify(await redactContent(value, store.of(tenantId))) });
    }
    if (rewriteOnce.length > 0)
      await store.commit({ expect: [], events: [], put: [], blobs: [], rewriteOnce });
  }
}

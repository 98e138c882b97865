/** Looking at a data directory from the inside, while no server has it open. */

import assert from "node:assert/strict";
import { asKernelEvent } from "../../src/kernel/core/events.ts";
import { refold } from "../../src/kernel/core/rebuild.ts";
import type { StoredEvent } from "../../src/store/port.ts";
import type { WholeStore } from "../../src/store/whole-store.ts";
import { openStoreOf } from "./database.ts";

/** Every event of the log, in order. */
export async function readWholeLog(store: WholeStore): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  while (true) {
    const page = await store.events({ after: events.at(-1)?.position ?? 0, limit: 1000 });
    if (page.length === 0) return events;
    events.push(...page);
  }
}

/**
 * What must hold of every log, whatever happened to the server: positions that are dense but for what is said to have left
 * by age, gapless sequences, true links.
 */
export function assertSoundLog(events: readonly StoredEvent[]): void {
  const heads = new Map<string, { sequence: number; position: number }>();
  const trims = events.map(asKernelEvent).filter(({ event }) => event === "vendor.bridle.log.trimmed");
  const left = trims.reduce(
    (sum, { payload }) => sum + ("event_count" in payload ? payload.event_count : 0),
    0,
  );
  assert.equal((events.at(-1)?.position ?? 0) - events.length, left, "what is not there has left by age");
  let before = 0;
  for (const event of events) {
    assert.ok(event.position > before, "positions go up");
    before = event.position;
    const head = heads.get(event.resource.id);
    assert.equal(event.sequence, (head?.sequence ?? 0) + 1, `sequence of ${event.resource.id}`);
    assert.equal(event.previous, head?.position ?? null, `link of ${event.resource.id}`);
    heads.set(event.resource.id, event);
  }
}

const kinds = [
  "api_key",
  "approval_audit",
  "approval_nonce",
  "approver_registry",
  "artifact",
  "audit_log",
  "branch",
  "connector",
  "handoff",
  "harp_prompt",
  "harp_session",
  "memory",
  "message",
  "permission_request",
  "persona",
  "push_config",
  "quota",
  "receipt",
  "receipt_chain",
  "receipt_tree",
  "schedule",
  "session",
  "shell_link",
  "signing_key",
  "skill",
  "task",
  "tenant",
  "vault",
  "workspace",
];

/** Documents refolded from events equal the stored ones, and there are no others. Returns the events. */
export async function assertRebuildable(data: string): Promise<StoredEvent[]> {
  const store = await openStoreOf(data);
  try {
    return await assertRefolds(store);
  } finally {
    await store.close();
  }
}

/** The same for a store that is open. */
export async function assertRefolds(store: WholeStore): Promise<StoredEvent[]> {
  const events = await readWholeLog(store);
  assertSoundLog(events);
  const records = await refold(store);
  assert.ok(records.size > 0);
  for (const [id, record] of records) {
    const document = await store.get(record.object, id);
    // Through JSON, as the stored one went: a field that is undefined is a field that is not there.
    assert.deepEqual(document?.body, JSON.parse(JSON.stringify(record)), `the document of ${id}`);
  }
  const tenants = new Set([...records.values()].map((record) => record.tenant_id));
  let stored = 0;
  for (const tenant of tenants) {
    for (const kind of kinds) stored += await store.of(tenant).count(kind);
  }
  assert.equal(stored, records.size, "no document without events");
  return events;
}

/** What a log comes to here: its events as they are recorded, and the records that they make. Made in slices, however long it is. */

import { nextSlice } from "../../../slices.ts";
import type { NewEvent } from "../../../store/port.ts";
import { HarnessError } from "../../core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../../core/events.ts";
import { type AnyRecord, changed, created } from "../../core/fold.ts";
import { type Adopted, documentOf, type Unit } from "../../core/unit.ts";
import { exchangesOf } from "../../kinds/exchange.ts";
import type { ReceiptIssued } from "../../kinds/receipt.ts";
import type { ImportMark } from "../../kinds/resource.ts";
import type { SessionRecord } from "../../kinds/session.ts";
import type { LogBundle } from "./bundle.ts";
import { issuedBy } from "./receipted.ts";
import { asWritten, inUse, refused } from "./refused.ts";
import { assertSettled } from "./settled.ts";

/** Documents that are looked for at once. */
const lookedForAtOnce = 200;

export async function adoptedFrom(
  unit: Unit,
  bundle: LogBundle,
): Promise<Adopted & { session: SessionRecord }> {
  const { caller, at } = unit;
  const { events, records } = await folded(bundle, { by: caller.actor, at });
  await assertFree(unit, [...records.values()]);
  await leaveOthers(unit, events, records);
  const expect: Adopted["expect"] = [];
  const put: Adopted["put"] = [];
  for (const [id, record] of records) {
    await nextSlice();
    assertSettled(id, record, records, bundle, caller);
    expect.push({ kind: record.object, id, version: 0 });
    put.push(documentOf(id, record));
  }
  const session = records.get(bundle.header.session_id);
  if (session?.object !== "session") throw refused("Its session is missing.");
  return { session, events, expect, put };
}

/** The events as they are recorded here, and the records that they make. */
async function folded(
  { events }: LogBundle,
  mark: ImportMark,
): Promise<{ events: KernelEvent[]; records: Map<string, AnyRecord> }> {
  const adopted: KernelEvent[] = [];
  const records = new Map<string, AnyRecord>();
  for (const event of events) {
    await nextSlice();
    const typed = asImported(event, mark);
    adopted.push(typed);
    asWritten(event, () => fold(records, typed));
  }
  return { events: adopted, records };
}

/** An event can make new records and change those, no others. */
function fold(records: Map<string, AnyRecord>, event: KernelEvent): void {
  for (const record of created(event)) {
    if (records.has(record.id)) throw inUse("record", record.id);
    records.set(record.id, record);
  }
  const { id, object } = event.resource;
  const current = records.get(id);
  if (current === undefined || current.object !== object) {
    throw new HarnessError("invalid_request", `${event.event} is about ${id}, which is unknown.`);
  }
  records.set(id, changed(current, event));
}

/** Ids of other tenants are found out by the commit. */
async function assertFree(unit: Unit, records: readonly AnyRecord[]): Promise<void> {
  for (let first = 0; first < records.length; first += lookedForAtOnce) {
    await nextSlice();
    const some = records.slice(first, first + lookedForAtOnce);
    const found = await unit.own.getMany(some.map(({ object: kind, id }) => ({ kind, id })));
    const taken = some.find((_, index) => found[index] !== undefined);
    if (taken !== undefined) throw inUse(taken.object, taken.id);
  }
}

/** Remote agents, and the gateways that were asked through, are the business of the server that did so. */
async function leaveOthers(
  unit: Unit,
  events: KernelEvent[],
  records: Map<string, AnyRecord>,
): Promise<void> {
  const emit = (event: NewEvent) => {
    const typed = asKernelEvent(event);
    events.push(typed);
    fold(records, typed);
  };
  for (const record of [...records.values()]) {
    await nextSlice();
    if (record.object === "handoff" && record.status !== "ended") {
      const changes = { status: "ended", step: null };
      emit(unit.fact(record, "vendor.bridle.handoff.updated", { changes }));
    }
    if (record.object !== "permission_request") continue;
    for (const { request_id, is_settled } of exchangesOf(record)) {
      if (!is_settled) emit(unit.fact(record, "vendor.bridle.approval.settled", { request_id }));
    }
  }
}

/** Marked as what it is. The receipts of another server are kept as they are, outside the chains of this one. */
function asImported(event: NewEvent, imported: ImportMark): KernelEvent {
  const typed = asKernelEvent({ ...event, imported });
  const issued = issuedBy(typed);
  if (issued === null) return typed;
  const { record, receipt } = issued;
  const payload: ReceiptIssued = { record: { ...record, index: null }, receipt };
  const { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource } = typed;
  const at = { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource, imported };
  return { ...at, event: "vendor.bridle.receipt.imported", payload };
}

/**
 * Take over the log of a session from another server: its events as they were, under their own ids, so that what is
 * computed from them is the same here as there. All of it or nothing.
 */

import type { NewEvent } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import { asKernelEvent, type KernelEvent } from "../core/events.ts";
import { type AnyRecord, changed, created } from "../core/fold.ts";
import { nextSlice } from "../core/slices.ts";
import type { RecordKey, Unit } from "../core/unit.ts";
import { exchangesOf } from "../kinds/exchange.ts";
import type { ReceiptIssued } from "../kinds/receipt.ts";
import type { ImportMark } from "../kinds/resource.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { emitWorkspace } from "../workspaces/emit-workspace.ts";
import { nameIn } from "../workspaces/ensure-tenant.ts";
import type { LogBundle } from "./transfer/bundle.ts";
import { issuedBy } from "./transfer/receipted.ts";
import { asWritten, refused } from "./transfer/refused.ts";
import { assertSettled } from "./transfer/settled.ts";
import { assertSound } from "./transfer/sound.ts";

export const importSession: Command<{ bundle: LogBundle }, SessionRecord> = {
  name: "import_session",
  scope: "admin",
  audit: ({ bundle }, session) => audited("session.import", session, { events: bundle.events.length }),
  // An id that is in use, by whomever, stays so.
  triesMax: 3,
  gaveUp: "Something in this file has an id that is in use already.",
  decide(unit, { bundle }) {
    const { tenant_id, session_id, task_id, workspace } = bundle.header;
    if (task_id !== null) throw refused("It is the log of one task; a session's log is needed.");
    if (tenant_id !== unit.caller.tenantId) {
      throw refused(`It is of the tenant ${tenant_id}; import it with a key of a tenant of that name.`);
    }
    if (unit.find("session", session_id) !== undefined) {
      throw new HarnessError("conflict", `Session ${session_id} is here already.`, {
        details: { session_id },
      });
    }
    const { deps, caller, at } = unit;
    unit.awaited("sound", () => assertSound(deps, bundle));
    if (unit.find("workspace", workspace.id) === undefined) {
      // A key bound to workspaces can neither make this one nor learn that it is there.
      if (caller.workspaceIds !== null) throw notFound("workspace", workspace.id);
      assertOwnWorkspaceId(caller.tenantId, workspace.id);
      assertFree(unit, [{ kind: "workspace", id: workspace.id }]);
      emitWorkspace(unit, { name: workspace.name, root: workspace.root }, workspace.id);
    }
    for (const blob of bundle.blobs) unit.keepBlob(blob);
    const { events, records } = unit.awaited("folded", () => folded(bundle, { by: caller.actor, at }));
    assertFree(
      unit,
      [...records.values()].map(({ object: kind, id }) => ({ kind, id })),
    );
    unit.adopt(events, records.values());
    leaveOthers(unit, records.keys());
    assertSettled(
      unit.made().filter(([id]) => records.has(id)),
      bundle,
      caller,
    );
    return unit.require("session", session_id);
  },
};

/** A workspace is named by chance, or after the tenant. */
function assertOwnWorkspaceId(tenantId: string, id: string): void {
  if (/^workspace_[0-9A-Z]{26}$/.test(id) || id === nameIn(tenantId, "workspace_default")) return;
  throw refused(`${id} is not an id that a workspace of this tenant can have.`);
}

/** The events as they are recorded here, and the records that they make. It takes long, in slices. */
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

/** What is here already is left as it is, whoever's it is. */
function assertFree(unit: Unit, keys: readonly RecordKey[]): void {
  unit.prefetch(keys);
  const taken = keys.find(({ kind, id }) => unit.findAsSystem(kind, id) !== undefined);
  if (taken !== undefined) throw inUse(taken.kind, taken.id);
}

function inUse(kind: string, id: string): HarnessError {
  return new HarnessError("conflict", `${id} is in use already.`, { details: { [`${kind}_id`]: id } });
}

/** Remote agents, and the gateways that were asked through, are the business of the server that did so. */
function leaveOthers(unit: Unit, ids: Iterable<string>): void {
  const adopted = new Set(ids);
  for (const [id, record] of unit.made()) {
    if (!adopted.has(id)) continue;
    if (record.object === "handoff" && record.status !== "ended") {
      unit.emit(record, "vendor.bridle.handoff.updated", { changes: { status: "ended", step: null } });
    }
    if (record.object !== "permission_request") continue;
    for (const { request_id, is_settled } of exchangesOf(record)) {
      if (!is_settled) unit.emit(record, "vendor.bridle.approval.settled", { request_id });
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

/**
 * Take over the log of a session from another server: its events as they were, under their own ids, so that what is
 * computed from them is the same here as there. All of it or nothing.
 */

import type { NewEvent } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError, notFound } from "../errors.ts";
import { asKernelEvent, type KernelEvent } from "../events.ts";
import { created, type Kind } from "../fold.ts";
import { exchangesOf } from "../resources/exchange.ts";
import type { ReceiptIssued } from "../resources/receipt.ts";
import type { ImportMark } from "../resources/resource.ts";
import type { SessionRecord } from "../resources/session.ts";
import { nextSlice } from "../slices.ts";
import type { LogBundle } from "../transfer/bundle.ts";
import { issuedBy } from "../transfer/receipted.ts";
import { asWritten, refused } from "../transfer/refused.ts";
import { assertSettled } from "../transfer/settled.ts";
import { assertSound } from "../transfer/sound.ts";
import type { Unit } from "../unit.ts";
import { emitWorkspace } from "./create-workspace.ts";
import { nameIn } from "./ensure-tenant.ts";

export const importSession: Command<{ bundle: LogBundle }, SessionRecord> = {
  name: "import_session",
  scope: "admin",
  audit: ({ bundle }, session) => audited("session.import", session, { events: bundle.events.length }),
  // An id that is in use, by whomever, stays so.
  triesMax: 3,
  gaveUp: "Something in this file has an id that is in use already.",
  async decide(unit, { bundle }) {
    const { tenant_id, session_id, task_id, workspace } = bundle.header;
    if (task_id !== null) throw refused("It is the log of one task; a session's log is needed.");
    if (tenant_id !== unit.caller.tenantId) {
      throw refused(`It is of the tenant ${tenant_id}; import it with a key of a tenant of that name.`);
    }
    if ((await unit.find("session", session_id)) !== undefined) {
      throw new HarnessError("conflict", `Session ${session_id} is here already.`, {
        details: { session_id },
      });
    }
    await assertSound(unit, bundle);
    if ((await unit.find("workspace", workspace.id)) === undefined) {
      // A key bound to workspaces can neither make this one nor learn that it is there.
      if (unit.caller.workspaceIds !== null) throw notFound("workspace", workspace.id);
      assertOwnWorkspaceId(unit.caller.tenantId, workspace.id);
      await assertFree(unit, "workspace", workspace.id);
      emitWorkspace(unit, { name: workspace.name, root: workspace.root }, workspace.id);
    }
    for (const blob of bundle.blobs) unit.keepBlob(blob);
    const before = new Set(unit.made().map(([, record]) => record));
    for (const event of bundle.events) {
      await nextSlice();
      const adopted = asImported(event, { by: unit.caller.actor, at: unit.at });
      for (const { object, id } of asWritten(event, () => created(adopted)))
        await assertFree(unit, object, id);
      asWritten(event, () => unit.adopt(adopted));
    }
    leaveOthers(unit);
    assertSettled(
      unit.made().filter(([, record]) => !before.has(record)),
      bundle,
      unit.caller,
    );
    return await unit.require("session", session_id);
  },
};

/** A workspace is named by chance, or after the tenant. */
function assertOwnWorkspaceId(tenantId: string, id: string): void {
  if (/^workspace_[0-9A-Z]{26}$/.test(id) || id === nameIn(tenantId, "workspace_default")) return;
  throw refused(`${id} is not an id that a workspace of this tenant can have.`);
}

/** What is here already is left as it is, whoever's it is. */
async function assertFree(unit: Unit, kind: Kind, id: string): Promise<void> {
  if ((await unit.findForHarness(kind, id)) === undefined) return;
  throw new HarnessError("conflict", `${id} is in use already.`, { details: { [`${kind}_id`]: id } });
}

/** Remote agents, and the gateways that were asked through, are the business of the server that did so. */
function leaveOthers(unit: Unit): void {
  for (const [, record] of unit.made()) {
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

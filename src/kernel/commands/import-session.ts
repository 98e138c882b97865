/**
 * Take over the log of a session from another server: its events as they were, under their own ids, so that what is
 * computed from them is the same here as there. All of it or nothing.
 */

import type { NewEvent } from "../../store/port.ts";
import { unsealFrom } from "../content.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { asKernelEvent, type EventKind, type KernelEvent, terminalEvents } from "../events.ts";
import { TaskFacts } from "../receipts/facts.ts";
import type { SessionRecord } from "../resources/session.ts";
import { type LogBundle, parseLogBundle } from "../transfer/bundle.ts";
import { emitWorkspace } from "./create-workspace.ts";

/** What a session's log may hold. Nothing else gets in by this door: no keys, no personas, no tenants. */
const importable: ReadonlySet<string> = new Set<EventKind>([
  "session.created",
  "vendor.bridle.session.updated",
  "session.closed",
  "session.message_appended",
  "session.thread_forked",
  "session.replayed",
  "user.message",
  "agent.message",
  "vendor.bridle.message",
  "artifact.created",
  "artifact.updated",
  "task.submitted",
  "task.started",
  "task.status_changed",
  "task.input_required",
  "task.auth_required",
  "task.completed",
  "task.failed",
  "task.canceled",
  "user.input_submitted",
  "user.cancel_requested",
  "user.tool_confirmation",
  "tool.approval_required",
  "tool.approved",
  "tool.denied",
  "span.started",
  "span.updated",
  "span.completed",
  "span.failed",
  "receipt.issued",
  "receipt.verified",
  "receipt.verification_failed",
  "vendor.bridle.receipt.imported",
  "replay.started",
  "replay.completed",
  "replay.failed",
]);

export const importSession: Command<{ text: string }, SessionRecord> = {
  name: "import_session",
  scope: "admin",
  async decide(unit, { text }) {
    const bundle = parseLogBundle(text);
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
    if ((await unit.find("workspace", workspace.id)) === undefined) {
      emitWorkspace(unit, { name: workspace.name, root: workspace.root }, workspace.id);
    }
    for (const event of bundle.events) assertBelongs(event, bundle);
    assertEnded(bundle);
    assertAsReceipted(bundle);
    for (const blob of bundle.blobs) unit.keepBlob(blob);
    for (const event of bundle.events) unit.adopt(asImported(event));
    return await unit.require("session", session_id);
  },
};

function assertBelongs(event: NewEvent, { header }: LogBundle): void {
  if (event.event === "session.truncated") {
    throw refused("The session was truncated; its transcript cannot be moved to another log.");
  }
  if (!importable.has(event.event))
    throw refused(`It has an event ${event.event}, which is no part of a session's log.`);
  const isOurs =
    event.sessionId === header.session_id &&
    event.tenantId === header.tenant_id &&
    event.workspaceId === header.workspace.id;
  if (!isOurs) throw refused(`It has an event of another session, ${event.sessionId}.`);
  const typed = asKernelEvent(event);
  if (typed.event === "session.created" && typed.payload.session.parent_session_id !== null) {
    throw refused("The session is a fork; its transcript begins in another session's log.");
  }
}

/** A task that goes on elsewhere must not go on here as well. */
function assertEnded({ events }: LogBundle): void {
  const ended = new Set(
    events.filter(({ event }) => terminalEvents.has(event)).map(({ resource }) => resource.id),
  );
  const open = events.find(({ event, resource }) => event === "task.submitted" && !ended.has(resource.id));
  if (open !== undefined) throw refused(`Task ${open.resource.id} has not ended.`);
}

/** What the tasks' receipts say about their logs must be true of these logs. */
function assertAsReceipted({ events, blobs }: LogBundle): void {
  const facts = new Map<string, TaskFacts>();
  const kept = new Map(blobs.map(({ sha256, bytes }) => [sha256, bytes]));
  for (const event of events.map(asKernelEvent)) {
    if (event.taskId === null) continue;
    const issued = issuedBy(event);
    const known = facts.get(event.taskId) ?? new TaskFacts();
    facts.set(event.taskId, known);
    if (issued === null || issued.record.subject.object !== "task") {
      known.add(event);
      continue;
    }
    const receipt = unsealFrom(issued.receipt, kept);
    const material = receipt?.replay_input.materials.find(({ kind }) => kind === "event_log");
    if (material?.sha256 === known.logHash) continue;
    throw refused(
      `The log of task ${event.taskId} is not the one that its receipt ${issued.record.id} is about.`,
    );
  }
}

function issuedBy(event: KernelEvent) {
  return event.event === "receipt.issued" || event.event === "vendor.bridle.receipt.imported"
    ? event.payload
    : null;
}

/** The receipts of another server are kept as they are, outside the chains of this one. */
function asImported(event: NewEvent): KernelEvent {
  const typed = asKernelEvent(event);
  if (typed.event !== "receipt.issued") return typed;
  const { record, receipt } = typed.payload;
  return {
    ...typed,
    event: "vendor.bridle.receipt.imported",
    payload: { record: { ...record, index: null }, receipt },
  };
}

function refused(problem: string): HarnessError {
  return new HarnessError("invalid_request", `This log cannot be imported. ${problem}`);
}

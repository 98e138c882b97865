/**
 * Erase what a session holds: messages, inputs, results, artifacts, names and reasons become descriptors with hashes, in
 * the log, in the documents and in the answers kept for repeated requests. Ids, times, kinds and receipts stay, so the
 * chain still verifies.
 *
 * Invariants
 *   E1  The request is recorded before anything is replaced; a process that dies goes on with it at its next start.
 *   E2  Each commit replaces all events of the resources it touches together with their documents, so that documents are
 *       the fold of the log after every one.
 *   E3  `vendor.bridle.session.erased` is recorded when nothing is left in any file, and not before.
 */

import { setImmediate as othersTurn } from "node:timers/promises";
import { type Caller, systemCaller } from "../../../policy/caller.ts";
import type { StoredEvent, TenantStore } from "../../../store/port.ts";
import { audited } from "../../audit/record.ts";
import { type Command, runCommand } from "../../core/dispatch.ts";
import { readLog } from "../../core/log-tail.ts";
import { paginate } from "../../core/paginate.ts";
import type { KernelDeps, WholeDeps } from "../../core/unit.ts";
import type { PushConfigRecord } from "../../kinds/push-config.ts";
import type { SessionRecord } from "../../kinds/session.ts";
import { deletePushConfig } from "../../push/delete-push-config.ts";
import { cancelTasks } from "../../tasks/cancel-task.ts";
import { dropUnreferenced } from "./blobs.ts";
import { eraseAnswers, eraseEvents, holdsContent } from "./erase-events.ts";
import { eraseLoose } from "./erase-loose.ts";

export interface EraseSession {
  sessionId: string;
  reason?: string | undefined;
}

export const requestErasure: Command<EraseSession, SessionRecord> = {
  name: "erase_session",
  scope: "admin",
  // What is erased with its tenant is told by the record of that.
  audit: (_, session, { caller }) => (caller.actor === "system" ? null : audited("session.erase", session)),
  isAllowedWithoutRoom: true,
  decide(unit, { sessionId, reason = null }) {
    const session = unit.require("session", sessionId);
    if (session.erasure !== undefined) return session;
    return unit.emit(session, "vendor.bridle.session.erasure_requested", {
      erasure: {
        requested_at: unit.at,
        requested_by: unit.caller.actor,
        reason: reason ?? null,
        erased_at: null,
      },
    });
  },
};

/** Asks for it, and comes back when it is done. Asked again, it is done already. */
export const eraseSession: Command<EraseSession, SessionRecord> = {
  ...requestErasure,
  async afterwards(deps, _caller, { id, tenant_id }) {
    await deps.operations.finishErasure(tenant_id, id);
  },
};

/** Does what was asked for and is not done yet. Harmless to do twice. */
export async function finishErasure(deps: WholeDeps, tenantId: string, sessionId: string): Promise<void> {
  const release = await deps.locks.acquire(`erasure:${sessionId}`);
  try {
    const document = await deps.store.of(tenantId).get("session", sessionId);
    const session = document?.body as SessionRecord | undefined;
    if (session?.erasure === undefined || session.erasure.erased_at !== null) return;
    const { eventCount, blobs } = await replaceContent(deps, tenantId, sessionId);
    await dropUnreferenced(deps.store, blobs);
    await deps.store.scrub();
    await tellRedacted(deps, tenantId, sessionId);
    await runCommand(deps, recordErased, systemCaller(tenantId), { sessionId, eventCount });
  } finally {
    release();
  }
}

/** Everything but the blobs, and what the files remember. Gives the hashes of what was replaced. */
export async function replaceContent(
  deps: WholeDeps,
  tenantId: string,
  sessionId: string,
): Promise<{ eventCount: number; blobs: Set<string> }> {
  const system = systemCaller(tenantId);
  await cancelTasks(deps, system, { sessionId }, "The session is erased.");
  // A receipt is made of the log of its task, and stays.
  await deps.receipts.caughtUp();
  await deletePushConfigs(deps, system, sessionId);
  await eraseTasks(deps, system, sessionId);
  await eraseRest(deps, system, sessionId);
  await eraseMemories(deps, tenantId, sessionId);
  await eraseAnswers(deps.store, tenantId, sessionId);
  return await erasedContent(deps.store.of(tenantId), sessionId);
}

async function tellRedacted(deps: WholeDeps, tenantId: string, sessionId: string): Promise<void> {
  const query = { kind: "artifact", by: { sessionId } } as const;
  for await (const page of paginate(deps.store.of(tenantId), query)) {
    const artifactIds = page.map(({ id }) => id);
    await runCommand(deps, recordRedacted, systemCaller(tenantId), { artifactIds });
    await othersTurn();
  }
}

const recordRedacted: Command<{ artifactIds: string[] }, null> = {
  name: "record_redacted",
  scope: "admin",
  isAllowedWithoutRoom: true,
  decide(unit, { artifactIds }) {
    for (const artifact of unit.findAll("artifact", artifactIds)) {
      unit.emit(artifact, "artifact.redacted", { artifact_id: artifact.id });
    }
    return null;
  },
};

export const recordErased: Command<{ sessionId: string; eventCount: number }, SessionRecord> = {
  name: "record_erased",
  scope: "admin",
  decide(unit, { sessionId, eventCount }) {
    const session = unit.require("session", sessionId);
    if (session.erasure?.erased_at !== null) return session;
    return unit.emit(session, "vendor.bridle.session.erased", { event_count: eventCount });
  },
};

/** Nothing more is told to anybody about what is erased. */
async function deletePushConfigs(deps: KernelDeps, system: Caller, sessionId: string): Promise<void> {
  for await (const page of paginate(deps.store.of(system.tenantId), {
    kind: "push_config",
    by: { sessionId },
  })) {
    for (const { body } of page) {
      const { task_id: taskId, config_id: configId } = body as PushConfigRecord;
      await runCommand(deps, deletePushConfig, system, { taskId, configId });
    }
  }
}

/** A task with everything that belongs to it is one commit. */
async function eraseTasks(deps: KernelDeps, system: Caller, sessionId: string): Promise<void> {
  for await (const tasks of paginate(deps.store.of(system.tenantId), { kind: "task", by: { sessionId } })) {
    for (const { id } of tasks) {
      await runCommand(deps, eraseEvents, system, { read: (store) => eventsOfTask(store, id) });
      await othersTurn();
    }
  }
}

async function eventsOfTask(store: TenantStore, taskId: string): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const events of readLog(store, { taskId, after: 0 })) found.push(...events);
  return found;
}

/** What belongs to no task: messages, which have one event each, page by page; then the session itself and the few others. */
async function eraseRest(deps: KernelDeps, system: Caller, sessionId: string): Promise<void> {
  const others: StoredEvent[] = [];
  for await (const events of readLog(deps.store.of(system.tenantId), { sessionId, after: 0 })) {
    const loose = events.filter(({ taskId }) => taskId === null);
    const messages = loose.filter(({ resource }) => resource.object === "message");
    others.push(...loose.filter(({ resource }) => resource.object !== "message"));
    if (messages.length > 0) await runCommand(deps, eraseEvents, system, { read: async () => messages });
    await othersTurn();
  }
  await runCommand(deps, eraseEvents, system, { read: async () => others });
}

/** What the session itself knows. What personas and workspaces learned in it is theirs. */
async function eraseMemories(deps: WholeDeps, tenantId: string, sessionId: string): Promise<void> {
  const ids = new Set<string>();
  for await (const page of paginate(deps.store.of(tenantId), {
    kind: "memory",
    by: { ownerId: sessionId },
  })) {
    for (const { id } of page) ids.add(id);
  }
  if (ids.size > 0) await eraseLoose(deps, tenantId, ({ id }) => ids.has(id));
}

/** The hashes of everything that was erased: among them are the names of the blobs that held it. */
async function erasedContent(
  store: TenantStore,
  sessionId: string,
): Promise<{ eventCount: number; blobs: Set<string> }> {
  const blobs = new Set<string>();
  let eventCount = 0;
  for await (const events of readLog(store, { sessionId, after: 0 })) {
    const held = events.filter(({ resource }) => holdsContent(resource.object));
    eventCount += held.length;
    for (const [sha256] of JSON.stringify(held).matchAll(/(?<="sha256":")[0-9a-f]{64}(?=")/g))
      blobs.add(sha256);
    await othersTurn();
  }
  return { eventCount, blobs };
}

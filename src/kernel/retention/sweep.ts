/**
 * Retention: what ended longer ago than the setting says leaves the log, oldest first, in small commits with room for
 * others in between. Work that has not ended keeps everything, however old it is.
 */

import { setImmediate as othersTurn } from "node:timers/promises";
import { type Caller, isBound } from "../../policy/caller.ts";
import type { TenantStore } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { noteAudit } from "../audit/note.ts";
import { timestamp } from "../core/clock.ts";
import { runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { WholeDeps } from "../core/unit.ts";
import type { MessageRecord } from "../kinds/message.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { taskTransitions } from "../tasks/lifecycle.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { measureSession, type OldWork, type TrimCounts, trimSession } from "./trim-session.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** Of one session, in one commit. */
const workMax = 20;
const endedStatuses = [
  ...Object.entries(taskTransitions).flatMap(([status, next]) => (next.length === 0 ? [status] : [])),
  "REJECTED",
];

export interface SweepReport extends TrimCounts {
  cutoff: string;
  dry_run: boolean;
}

/** For whoever runs the server: an administrator of the default tenant. */
export async function requestSweep(deps: WholeDeps, caller: Caller, dryRun: boolean): Promise<SweepReport> {
  requireScope(caller, "admin");
  if (caller.tenantId !== defaultTenantId || isBound(caller)) {
    throw new HarnessError(
      "permission_denied",
      "Only an administrator of the default tenant may sweep the log.",
    );
  }
  if (deps.retainMs === null) {
    throw new HarnessError(
      "conflict",
      "This server keeps everything: start it with --retain-days to change that.",
    );
  }
  if (!dryRun) {
    const details = { retain_days: deps.retainMs / dayMs };
    await runCommand(deps, noteAudit, caller, { action: "retention.sweep", resource: null, details });
  }
  return await sweep(deps, deps.retainMs, dryRun);
}

export async function sweep(deps: WholeDeps, retainMs: number, dryRun = false): Promise<SweepReport> {
  const release = await deps.locks.acquire("retention");
  try {
    const cutoff = timestamp(deps.clock.now() - retainMs);
    // A receipt is made of the log of its task.
    await deps.receipts.caughtUp();
    const report: SweepReport = {
      cutoff,
      dry_run: dryRun,
      tasks: 0,
      messages: 0,
      events: 0,
      blobs: 0,
      bytes: 0,
    };
    for (const tenantId of await deps.store.tenantIds()) {
      const store = deps.store.of(tenantId);
      for await (const work of oldWork(store, cutoff)) {
        const counts = dryRun ? await measureSession(store, work) : await trimSession(deps, work);
        for (const name of ["tasks", "messages", "events", "blobs", "bytes"] as const)
          report[name] += counts[name];
        await othersTurn();
      }
    }
    return report;
  } finally {
    release();
  }
}

async function* oldWork(store: TenantStore, cutoff: string): AsyncGenerator<OldWork> {
  yield* oldTasks(store, cutoff);
  yield* oldMessages(store, cutoff);
}

/** Tasks are listed as they came; what came after the cutoff cannot have ended before it. */
async function* oldTasks(store: TenantStore, cutoff: string): AsyncGenerator<OldWork> {
  const pages = paginate(store, { kind: "task", statuses: endedStatuses });
  for await (const page of pages) {
    const tasks = page.map(({ body }) => body as TaskRecord);
    const ended = tasks.filter((task) => (task.completed_at ?? task.canceled_at ?? cutoff) < cutoff);
    const bySession = Map.groupBy(ended, (task) => task.session_id);
    for (const [sessionId, found] of bySession) {
      for (const some of inGroups(found)) {
        yield { tenantId: store.tenantId, sessionId, taskIds: some.map(({ id }) => id), messageIds: [] };
      }
    }
    if ((tasks.at(-1)?.created_at ?? "") >= cutoff) return;
  }
}

/** Messages that belong to no task. */
async function* oldMessages(store: TenantStore, cutoff: string): AsyncGenerator<OldWork> {
  const sessions = paginate(store, { kind: "session" });
  for await (const page of sessions) {
    for (const { id: sessionId } of page) {
      const messages = paginate(store, { kind: "message", by: { sessionId } });
      for await (const found of messages) {
        const records = found.map(({ body }) => body as MessageRecord);
        const loose = records.filter(({ task_id, created_at }) => task_id === null && created_at < cutoff);
        for (const some of inGroups(loose)) {
          yield { tenantId: store.tenantId, sessionId, taskIds: [], messageIds: some.map(({ id }) => id) };
        }
        if ((records.at(-1)?.created_at ?? "") >= cutoff) break;
      }
      await othersTurn();
    }
  }
}

function inGroups<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / workMax) }, (_, index) =>
    items.slice(index * workMax, (index + 1) * workMax),
  );
}

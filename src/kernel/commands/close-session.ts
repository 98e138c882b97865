/** Close a session: it takes no more work, and what still runs in it is canceled. */

import type { Command } from "../dispatch.ts";
import { carryOut } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import type { SessionRecord } from "../resources/session.ts";
import type { Unit } from "../unit.ts";
import { cancelTask } from "./cancel-task.ts";

const pageSize = 100;

export const closeSession: Command<{ sessionId: string }, SessionRecord> = {
  name: "close_session",
  scope: "sessions:write",
  async decide(unit, { sessionId }) {
    const session = await unit.require("session", sessionId);
    if (session.state === "CLOSED") return session;
    await cancelTasks(unit, sessionId, () => true, "The session was closed.");
    return unit.emit(session, "session.closed", {});
  },
};

/** Cancels tasks of a session that have not ended, each in a commit of its own. */
export async function cancelTasks(
  unit: Unit,
  sessionId: string,
  which: (task: { id: string; born: number }) => boolean,
  reason: string,
): Promise<void> {
  const { store } = unit.deps;
  let beyond: { born: number; id: string } | undefined;
  while (true) {
    const tasks = await store.list({
      kind: "task",
      by: { sessionId },
      statuses: ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"],
      order: "oldest_first",
      beyond,
      limit: pageSize,
    });
    for (const { id, born } of tasks) {
      if (which({ id, born })) await cancelQuietly(unit, id, reason);
    }
    const last = tasks.at(-1);
    if (last === undefined || tasks.length < pageSize) return;
    beyond = { born: last.born, id: last.id };
  }
}

/** A task that ended by itself in the meantime is as good as canceled here. */
async function cancelQuietly(unit: Unit, taskId: string, reason: string): Promise<void> {
  try {
    await carryOut(unit.deps, cancelTask, unit.caller, { taskId, reason });
  } catch (error) {
    if (!(error instanceof HarnessError && error.code === "conflict")) throw error;
  }
}

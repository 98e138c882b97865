/**
 * A schedule is due: its task is submitted in the commit that moves the schedule on, so a tick has one task however
 * often it is tried. Ticks that passed unseen, while the server was down, are one.
 */

import { type Caller, systemCaller } from "../../policy/caller.ts";
import { decided } from "../core/decided.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { KernelDeps, Unit } from "../core/unit.ts";
import type { ScheduleFired, ScheduleRecord } from "../kinds/schedule.ts";
import { requireStorage } from "../quotas/room.ts";
import { createSession } from "../sessions/create-session.ts";
import { recordQuotaRefusal, submitTask } from "../tasks/submit-task.ts";
import { nextTick } from "./schedules.ts";

type Refused = ScheduleFired["refused"];

const fireSchedule: Command<{ scheduleId: string; refused: Refused }, null> = {
  name: "fire_schedule",
  scope: "tasks:write",
  decide(unit, { scheduleId, refused }) {
    const schedule = unit.require("schedule", scheduleId);
    const now = Date.parse(unit.at);
    // Somebody else was faster.
    if (schedule.next_at === null || Date.parse(schedule.next_at) > now) return null;
    const next_at = nextTick(schedule.definition, now);
    const tick = schedule.next_at;
    const submitted = refused === null ? submit(unit, schedule, tick) : null;
    unit.emit(schedule, "vendor.bridle.schedule.fired", {
      tick,
      next_at,
      session_id: submitted?.sessionId ?? schedule.session_id,
      task_id: submitted?.taskId ?? null,
      refused,
    });
    return null;
  },
  refused: recordQuotaRefusal,
};

function submit(unit: Unit, schedule: ScheduleRecord, tick: string): { sessionId: string; taskId: string } {
  const { definition, persona_id: personaId } = schedule;
  const sessionId = schedule.session_id ?? ownSession(unit, schedule);
  const task = submitTask.decide(unit, {
    sessionId,
    personaId,
    configuredBy: schedule.set_up_by ?? null,
    input: { payload: definition.input ?? {} },
    metadata: { schedule_id: schedule.id, tick },
  });
  return { sessionId, taskId: task.id };
}

function ownSession(unit: Unit, { definition, persona_id, id }: ScheduleRecord): string {
  const tenant = unit.require("tenant", unit.caller.tenantId);
  const session = createSession.decide(unit, {
    workspaceId: definition.workspace_id ?? tenant.default_workspace_id,
    personaId: persona_id,
    metadata: { schedule_id: id },
  });
  return session.id;
}

/** A task that is refused (a quota, a closed session) is said so; the next tick tries again. */
export async function fire(deps: KernelDeps, tenantId: string, scheduleId: string): Promise<void> {
  const caller: Caller = { ...systemCaller(tenantId), actor: `schedule:${scheduleId}` };
  try {
    await decided(deps, caller, (unit) => requireStorage(unit, 1));
    await runCommand(deps, fireSchedule, caller, { scheduleId, refused: null });
  } catch (error) {
    // Not the tick's fault: the same will be tried again.
    if (!(error instanceof HarnessError) || error.code === "service_unavailable") throw error;
    const { code, message } = error;
    await runCommand(deps, fireSchedule, caller, { scheduleId, refused: { code, message } });
  }
}

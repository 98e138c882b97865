/**
 * Brings a schedule back whose next tick was computed while the clock was ahead: without it, nothing would happen until that
 * time has really come.
 */

import { type Caller, systemCaller } from "../../policy/caller.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { ScheduleRecord } from "../kinds/schedule.ts";
import { nextTick } from "./schedules.ts";

/** A clock that was put back by less must not repeat the tick that has just been carried out. */
const toleranceMs = 60_000;

const moveSchedule: Command<{ scheduleId: string }, null> = {
  name: "move_schedule",
  scope: "tasks:write",
  decide(unit, { scheduleId }) {
    const schedule = unit.require("schedule", scheduleId);
    const now = Date.parse(unit.at);
    if (!isTooLate(schedule, now)) return null;
    unit.emit(schedule, "vendor.bridle.schedule.moved", { next_at: nextTick(schedule.definition, now) });
    return null;
  },
};

/** Whether a tick lies between now and the time that the schedule waits for. */
function isTooLate({ definition, next_at }: ScheduleRecord, now: number): boolean {
  const earliest = next_at === null ? null : nextTick(definition, now + toleranceMs);
  return next_at !== null && earliest !== null && Date.parse(earliest) < Date.parse(next_at);
}

/** Writes nothing for a schedule that waits for the right time. */
export async function moveBack(deps: KernelDeps, schedule: ScheduleRecord): Promise<void> {
  if (!isTooLate(schedule, deps.clock.now())) return;
  const caller: Caller = { ...systemCaller(schedule.tenant_id), actor: `schedule:${schedule.id}` };
  await runCommand(deps, moveSchedule, caller, { scheduleId: schedule.id });
}

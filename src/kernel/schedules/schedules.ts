/** The schedules of a persona as records of their own, so that the clock finds them without looking at personas. */

import { isDeepStrictEqual } from "node:util";
import { Cron } from "croner";
import { pauseIfLate } from "../../slices.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaRecord, Schedule } from "../kinds/persona.ts";
import type { ScheduleRecord } from "../kinds/schedule.ts";
import { callerAsSubmitter, type Submitter } from "../kinds/submitter.ts";

/** The first time after this one that the expression names; null when there is none. An unusual one takes milliseconds. */
export function nextTick(schedule: Timing, after: number): string | null {
  return parsed(schedule).nextRun(new Date(after))?.toISOString() ?? null;
}

type Timing = Pick<Schedule, "cron" | "time_zone">;

function parsed({ cron, time_zone = "UTC" }: Timing): Cron {
  return new Cron(cron, { timezone: time_zone });
}

/** Gives every schedule its name. One that was there before, with the same content, keeps the one it has. */
export function nameSchedules(
  unit: Unit,
  given: readonly Schedule[],
  before: readonly Schedule[],
): Schedule[] {
  const known = [...before];
  return given.map((schedule, index) => {
    assertCron(schedule, index);
    const { id: _, ...definition } = schedule;
    const at = known.findIndex((other) => isDeepStrictEqual(workOf(other), workOf(schedule)));
    const kept = at === -1 ? undefined : known.splice(at, 1)[0];
    return { id: kept?.id ?? unit.newId("schedule"), ...definition };
  });
}

/** What a schedule does, whether it is paused or not. */
function workOf({ id: _id, paused: _paused, ...work }: Schedule): Schedule {
  return work;
}

/** Starts the schedules that are new, stops those that are gone, pauses and resumes the others. */
export function syncSchedules(
  unit: Unit,
  { id: personaId, schedules = [] }: PersonaRecord,
  before: readonly Schedule[] = [],
  by: Submitter = callerAsSubmitter(unit.caller),
): void {
  const isIn = (list: readonly Schedule[], { id }: Schedule) => list.some((other) => other.id === id);
  const gone = before.filter((schedule) => !isIn(schedules, schedule)).flatMap(({ id }) => id ?? []);
  for (const record of unit.findAll("schedule", gone)) {
    unit.emit(record, "vendor.bridle.schedule.stopped", {});
  }
  pauseOrResume(unit, schedules, before);
  const fresh = schedules.filter((schedule) => !isIn(before, schedule));
  const ticks =
    fresh.length === 0 ? [] : unit.awaited(`ticks of ${personaId}`, () => ticksOf(fresh, unit.at));
  for (const [index, definition] of fresh.entries()) {
    const envelope = unit.envelope("schedule", "schedule");
    const schedule: ScheduleRecord = {
      ...envelope,
      id: definition.id ?? envelope.id,
      metadata: {},
      persona_id: personaId,
      definition,
      session_id: definition.session_id ?? null,
      next_at: definition.paused === true ? null : (ticks[index] ?? null),
      ...unit.madeBy,
      set_up_by: by,
    };
    unit.emit(schedule, "vendor.bridle.schedule.created", { schedule });
  }
}

function pauseOrResume(unit: Unit, schedules: readonly Schedule[], before: readonly Schedule[]): void {
  const wasPaused = new Map(before.map(({ id, paused = false }) => [id, paused]));
  const changed = schedules.filter(({ id, paused = false }) => wasPaused.get(id) === !paused);
  const records = unit.findAll(
    "schedule",
    changed.flatMap(({ id }) => id ?? []),
  );
  for (const record of records) {
    if (wasPaused.get(record.id) === false) {
      unit.emit(record, "vendor.bridle.schedule.stopped", {});
    } else {
      const next_at = nextTick(record.definition, Date.parse(unit.at));
      unit.emit(record, "vendor.bridle.schedule.moved", { next_at });
    }
  }
}

async function ticksOf(schedules: readonly Schedule[], at: string): Promise<(string | null)[]> {
  const ticks: (string | null)[] = [];
  for (const schedule of schedules) {
    await pauseIfLate();
    ticks.push(nextTick(schedule, Date.parse(at)));
  }
  return ticks;
}

function assertCron(schedule: Schedule, index: number): void {
  const { cron, time_zone = "UTC" } = schedule;
  try {
    new Intl.DateTimeFormat("en", { timeZone: time_zone });
  } catch {
    throw new HarnessError("invalid_request", `${JSON.stringify(time_zone)} is not a time zone.`, {
      param: `schedules[${index}].time_zone`,
    });
  }
  try {
    parsed(schedule);
  } catch {
    throw new HarnessError("invalid_request", `${JSON.stringify(cron)} is not a cron expression.`, {
      param: `schedules[${index}].cron`,
    });
  }
}

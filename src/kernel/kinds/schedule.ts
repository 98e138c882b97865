/** A schedule of a persona: when its next task is due, and what became of the last one. */

import type { KernelEvent } from "../core/events.ts";
import type { Schedule } from "./persona.ts";
import type { Resource } from "./resource.ts";
import type { Submitter } from "./submitter.ts";

export interface ScheduleRecord extends Resource<"schedule"> {
  persona_id: string;
  definition: Schedule;
  /** The session that its tasks go to, once there is one. */
  session_id: string | null;
  /** Null while it is paused, once it was stopped, or when no time is left that fits. */
  next_at: string | null;
  created_by_key_id?: string;
  /** Who added it to the persona. */
  set_up_by?: Submitter;
}

/** One tick. Ticks that passed while the server was down are one. */
export interface ScheduleFired {
  tick: string;
  next_at: string | null;
  session_id: string | null;
  task_id: string | null;
  /** Why no task came of it. */
  refused: { code: string; message: string } | null;
}

export function foldSchedule(schedule: ScheduleRecord, event: KernelEvent): ScheduleRecord {
  switch (event.event) {
    case "vendor.bridle.schedule.stopped":
      return { ...schedule, next_at: null, updated_at: event.createdAt };
    case "vendor.bridle.schedule.fired": {
      const { next_at, session_id } = event.payload;
      return { ...schedule, next_at, session_id, updated_at: event.createdAt };
    }
    case "vendor.bridle.schedule.moved":
      return { ...schedule, next_at: event.payload.next_at, updated_at: event.createdAt };
    default:
      return schedule;
  }
}

/** Submits what schedules say when the time has come, also what it came to while the server was down. */

import type { Logger } from "pino";
import { fire } from "../kernel/commands/fire-schedule.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { ScheduleRecord } from "../kernel/resources/schedule.ts";

const lookEveryMs = 250;
const pageSize = 100;
const fromTheStart = { wakeAt: -1, id: "" };

/** Returns the way to stop it. */
export function startScheduleClock(kernel: Kernel, logger: Logger): () => Promise<void> {
  let looking: Promise<void> | null = null;
  const look = () => {
    looking ??= fireDue(kernel, logger).finally(() => {
      looking = null;
    });
  };
  const timer = setInterval(look, lookEveryMs);
  timer.unref();
  look();
  return async () => {
    clearInterval(timer);
    await looking;
  };
}

async function fireDue(kernel: Kernel, logger: Logger): Promise<void> {
  try {
    const through = kernel.clock.now();
    const due = await kernel.store.due({ kind: "schedule", after: fromTheStart, through, limit: pageSize });
    for (const { id } of due) {
      const document = await kernel.store.get("schedule", id);
      const schedule = document?.body as ScheduleRecord | undefined;
      if (schedule !== undefined) await fire(kernel, schedule.tenant_id, id);
    }
  } catch (error) {
    logger.error({ err: error }, "a schedule could not be carried out; trying again");
  }
}

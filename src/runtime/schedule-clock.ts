/** Submits what schedules say when the time has come, also what it came to while the server was down. */

import type { Logger } from "pino";
import { fire } from "../kernel/commands/fire-schedule.ts";
import type { WholeKernel } from "../kernel/kernel.ts";
import type { ScheduleRecord } from "../kernel/resources/schedule.ts";

const lookEveryMs = 250;
const pageSize = 100;
const fromTheStart = { wakeAt: -1, id: "" };

/** Returns the way to stop it. */
export function startScheduleClock(kernel: WholeKernel, logger: Logger): () => Promise<void> {
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

/** One that cannot be carried out now is tried again at the next look, and holds up no other. */
async function fireDue(kernel: WholeKernel, logger: Logger): Promise<void> {
  // What is due stays due.
  if (kernel.store.shortage() !== null) return;
  const through = kernel.clock.now();
  let after = fromTheStart;
  try {
    while (true) {
      const due = await kernel.store.due({ kind: "schedule", after, through, limit: pageSize });
      for (const { id } of due) await fireOne(kernel, logger, id);
      after = due.at(-1) ?? after;
      if (due.length < pageSize) return;
    }
  } catch (error) {
    logger.error({ err: error }, "looking for due schedules failed; trying again");
  }
}

async function fireOne(kernel: WholeKernel, logger: Logger, id: string): Promise<void> {
  try {
    const document = await kernel.store.get("schedule", id);
    const schedule = document?.body as ScheduleRecord | undefined;
    if (schedule !== undefined) await fire(kernel, schedule.tenant_id, id);
  } catch (error) {
    logger.error({ err: error, schedule_id: id }, "a schedule could not be carried out; trying again");
  }
}

/**
 * Submits what schedules say when the time has come, also what it came to while the server was down. At the start, and when
 * the clock was put back, schedules that wait for a time that a wrong clock chose are brought back.
 */

import type { Logger } from "pino";
import type { WholeKernel } from "../../kernel/kernel.ts";
import type { ScheduleRecord } from "../../kernel/kinds/schedule.ts";
import { fire } from "../../kernel/schedules/fire-schedule.ts";
import { moveBack } from "../../kernel/schedules/move-schedule.ts";
import { Periodic } from "../../periodic.ts";
import { DueReader } from "./due-reader.ts";

const lookEveryMs = 250;

/** Returns the way to stop it. */
export function startScheduleClock(kernel: WholeKernel, logger: Logger): () => Promise<void> {
  const due = new DueReader({ store: kernel.store, kind: "schedule", isRetry: true });
  const clock = new Periodic({
    everyMs: lookEveryMs,
    work: () => fireDue(kernel, logger, due),
    onError: (error) =>
      logger.error(
        { event: "schedule.sweep_failed", err: error },
        "Looking for due schedules failed; retrying",
      ),
  });
  void clock.start();
  return () => clock.stop();
}

/** One that cannot be carried out now is tried again at the next look, and holds up no other. */
async function fireDue(kernel: WholeKernel, logger: Logger, due: DueReader): Promise<void> {
  // What is due stays due.
  if (kernel.store.shortage() !== null) return;
  due.restart();
  for await (const id of due.read(kernel.clock.now())) await fireOne(kernel, logger, id);
}

async function fireOne(kernel: WholeKernel, logger: Logger, id: string): Promise<void> {
  try {
    const document = await kernel.store.get("schedule", id);
    const schedule = document?.body as ScheduleRecord | undefined;
    if (schedule === undefined || schedule.next_at === null) return;
    if (Date.parse(schedule.next_at) > kernel.clock.now()) await moveBack(kernel, schedule);
    else await fire(kernel, schedule.tenant_id, id);
  } catch (error) {
    logger.error(
      { event: "schedule.failed", err: error, schedule_id: id },
      "A schedule could not be carried out; retrying",
    );
  }
}

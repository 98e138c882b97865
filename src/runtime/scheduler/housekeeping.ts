/** What is done beside the work, at start and every hour: erasures that were not finished, and retention. */

import type { Logger } from "pino";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { resumeErasures } from "../../kernel/retention/erasure/resume.ts";
import { sweep } from "../../kernel/retention/sweep.ts";

const everyMs = 60 * 60 * 1000;

/** Returns the way to stop it. */
export function startHousekeeping(kernel: WholeKernel, logger: Logger): () => Promise<void> {
  let working: Promise<void> | null = null;
  const work = () => {
    working ??= keepHouse(kernel, logger).finally(() => {
      working = null;
    });
  };
  const timer = setInterval(work, everyMs);
  timer.unref();
  work();
  return async () => {
    clearInterval(timer);
    await working;
  };
}

async function keepHouse(kernel: WholeKernel, logger: Logger): Promise<void> {
  try {
    await resumeErasures(kernel, (error, id) =>
      logger.error({ err: error, resource_id: id }, "an erasure could not be finished; it is tried again"),
    );
    if (kernel.retainMs === null) return;
    const { dry_run: _, ...report } = await sweep(kernel, kernel.retainMs);
    if (report.events > 0) logger.info(report, "old work left the log");
  } catch (error) {
    logger.error({ err: error }, "housekeeping failed; it is tried again in an hour");
  }
}

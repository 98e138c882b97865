/** What is done beside the work, at start and every hour: erasures that were not finished, and retention. */

import type { Logger } from "pino";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { resumeErasures } from "../../kernel/retention/erasure/resume.ts";
import { sweep } from "../../kernel/retention/sweep.ts";
import { Periodic } from "../../periodic.ts";

const everyMs = 60 * 60 * 1000;

/** Returns the way to stop it. */
export function startHousekeeping(kernel: WholeKernel, logger: Logger): () => Promise<void> {
  const housekeeping = new Periodic({
    everyMs,
    work: () => keepHouse(kernel, logger),
    onError: (error) =>
      logger.error(
        { event: "retention.failed", err: error },
        "Erasure and retention failed; retrying in an hour",
      ),
  });
  void housekeeping.start();
  return () => housekeeping.stop();
}

async function keepHouse(kernel: WholeKernel, logger: Logger): Promise<void> {
  await resumeErasures(kernel, (error, id) =>
    logger.error(
      { event: "erasure.failed", err: error, resource_id: id },
      "An erasure could not be finished; retrying",
    ),
  );
  if (kernel.retainMs === null) return;
  const { dry_run: _, ...report } = await sweep(kernel, kernel.retainMs);
  if (report.events > 0)
    logger.info({ event: "retention.swept", ...report }, "Old work was deleted from the log");
}

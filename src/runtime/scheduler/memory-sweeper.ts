/** Deletes memories whose time is over. Nobody sees them from that moment on; this is what tidies up after it. */

import type { Logger } from "pino";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { deleteMemory } from "../../kernel/memory/delete-memory.ts";
import { systemCaller } from "../../policy/caller.ts";

const sweepEveryMs = 1000;
const sweepPage = 200;

/** Gives the way to stop. */
export function startMemorySweeper({
  kernel,
  logger,
}: {
  kernel: WholeKernel;
  logger: Logger;
}): () => Promise<void> {
  let sweeping: Promise<void> | null = null;
  let stopped = false;
  const timer = setInterval(() => {
    sweeping ??= sweep(kernel, () => stopped)
      .catch((error) => logger.error({ err: error }, "deleting expired memories failed; trying again"))
      .finally(() => {
        sweeping = null;
      });
  }, sweepEveryMs);
  timer.unref();
  return async () => {
    stopped = true;
    clearInterval(timer);
    await sweeping;
  };
}

async function sweep(kernel: WholeKernel, isStopped: () => boolean): Promise<void> {
  const { store, clock } = kernel;
  let after = { wakeAt: -1, id: "" };
  while (true) {
    const due = await store.due({ kind: "memory", after, through: clock.now(), limit: sweepPage });
    for (const { id } of due) {
      const document = isStopped() ? undefined : await store.get("memory", id);
      if (document === undefined) continue;
      const caller = systemCaller(document.tenantId);
      await kernel.dispatch(deleteMemory, caller, { memoryId: id, reason: "expired" });
    }
    after = due.at(-1) ?? after;
    if (due.length < sweepPage || isStopped()) return;
  }
}

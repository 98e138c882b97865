/** Deletes memories whose time is over. Nobody sees them from that moment on; this is what tidies up after it. */

import type { Logger } from "pino";
import type { WholeKernel } from "../../kernel/kernel.ts";
import { deleteMemory } from "../../kernel/memory/delete-memory.ts";
import { Periodic } from "../../periodic.ts";
import { systemCaller } from "../../policy/caller.ts";
import { DueReader } from "./due-reader.ts";

const sweepEveryMs = 1000;

/** Gives the way to stop. */
export function startMemorySweeper({
  kernel,
  logger,
}: {
  kernel: WholeKernel;
  logger: Logger;
}): () => Promise<void> {
  const sweeper = new Periodic({
    everyMs: sweepEveryMs,
    work: (signal) => sweep(kernel, signal),
    onError: (error) =>
      logger.error(
        { event: "memory.sweep_failed", err: error },
        "Deleting expired memories failed; retrying",
      ),
  });
  void sweeper.start();
  return () => sweeper.stop();
}

async function sweep({ store, clock, dispatch }: WholeKernel, signal: AbortSignal): Promise<void> {
  const due = new DueReader({ store, kind: "memory" });
  for await (const id of due.read(clock.now())) {
    if (signal.aborted) return;
    const document = await store.get("memory", id);
    if (document === undefined) continue;
    await dispatch(deleteMemory, systemCaller(document.tenantId), { memoryId: id, reason: "expired" });
  }
}

/**
 * Deletes memories and closes sessions whose time is over. Nobody sees such a memory and no such session takes work from that moment on;
 * this is what tidies up after it.
 */

import type { Logger } from "pino";
import type { WholeKernel } from "../../kernel/kernel.ts";
import type { SessionRecord } from "../../kernel/kinds/session.ts";
import { deleteMemory } from "../../kernel/memory/delete-memory.ts";
import { closeSession } from "../../kernel/sessions/close-session.ts";
import { Periodic } from "../../periodic.ts";
import { systemCaller } from "../../policy/caller.ts";
import { DueReader } from "./due-reader.ts";

const sweepEveryMs = 1000;

/** Gives the way to stop. */
export function startExpirySweeper({
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
        { event: "expiry.sweep_failed", err: error },
        "Deleting expired memories or closing expired sessions failed; retrying",
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
  for await (const id of new DueReader({ store, kind: "session" }).read(clock.now())) {
    if (signal.aborted) return;
    const document = await store.get("session", id);
    // Erasures are due too.
    if (document === undefined || isErased(document.body as SessionRecord)) continue;
    await dispatch(closeSession, systemCaller(document.tenantId), { sessionId: id });
  }
}

function isErased({ erasure }: SessionRecord): boolean {
  return erasure !== undefined;
}

/** Erasures that were asked for and not finished: by a process that died, or while somebody held the file. */

import type { KernelDeps } from "../unit.ts";
import { finishErasure } from "./erase-session.ts";

const pageSize = 100;

export async function resumeErasures(
  deps: KernelDeps,
  onError: (error: unknown, id: string) => void,
): Promise<void> {
  let after = { wakeAt: -1, id: "" };
  while (true) {
    const due = await deps.store.due({ kind: "session", after, through: deps.clock.now(), limit: pageSize });
    for (const { id } of due) {
      const document = await deps.store.get("session", id);
      try {
        if (document !== undefined) await finishErasure(deps, document.tenantId, id);
      } catch (error) {
        onError(error, id);
      }
    }
    const last = due.at(-1);
    if (last === undefined || due.length < pageSize) return;
    after = last;
  }
}

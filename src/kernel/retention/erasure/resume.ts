/** Erasures that were asked for and not finished: by a process that died, or while somebody held the file. */

import type { WholeDeps } from "../../core/unit.ts";
import { finishErasure } from "./erase-session.ts";
import { finishTenantErasure } from "./erase-tenant.ts";

const pageSize = 100;

const finish = {
  tenant: (deps: WholeDeps, tenantId: string) => finishTenantErasure(deps, tenantId),
  session: (deps: WholeDeps, tenantId: string, id: string) => finishErasure(deps, tenantId, id),
};

export async function resumeErasures(
  deps: WholeDeps,
  onError: (error: unknown, id: string) => void,
): Promise<void> {
  for (const kind of ["tenant", "session"] as const) {
    for await (const { id, tenantId } of pending(deps, kind)) {
      await finish[kind](deps, tenantId, id).catch((error: unknown) => onError(error, id));
    }
  }
}

async function* pending(
  { store, clock }: WholeDeps,
  kind: "tenant" | "session",
): AsyncGenerator<{ id: string; tenantId: string }> {
  let after = { wakeAt: -1, id: "" };
  while (true) {
    const due = await store.due({ kind, after, through: clock.now(), limit: pageSize });
    for (const { id } of due) {
      const document = await store.get(kind, id);
      // Sessions that expire are due too.
      const isAsked = document !== undefined && "erasure" in Object(document.body);
      if (isAsked) yield document;
    }
    const last = due.at(-1);
    if (last === undefined || due.length < pageSize) return;
    after = last;
  }
}

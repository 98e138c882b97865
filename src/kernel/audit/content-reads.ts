/**
 * An administrator's reads of what others said and made: at most one record for each credential, resource and hour. It is written before the
 * content is given out. What the reader's own credential made is not recorded, nor what the server reads for itself.
 */

import { type Caller, systemCaller } from "../../policy/caller.ts";
import { runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Kind } from "../core/fold.ts";
import type { KernelDeps } from "../core/unit.ts";
import { noteAudit } from "./note.ts";

const everyMs = 60 * 60 * 1000;
/** Forgotten all at once when there are more: then a read may be recorded twice in an hour. */
const keptMax = 10_000;

/** When a credential's read of a resource was looked at last, for each kernel. */
const looked = new WeakMap<KernelDeps["locks"], Map<string, number>>();

export type ContentKind = "messages" | "events" | "tasks" | "artifact" | "file" | "memories";

/** What the audit log says was read: the session, or all of a workspace or of the tenant. */
export function placeOf(
  { tenantId }: Caller,
  { sessionId, workspaceId }: { sessionId?: string | null | undefined; workspaceId?: string | undefined },
): { kind: Kind; id: string } {
  if (sessionId != null) return { kind: "session", id: sessionId };
  return workspaceId === undefined
    ? { kind: "tenant", id: tenantId }
    : { kind: "workspace", id: workspaceId };
}

export async function noteContentRead(
  deps: KernelDeps,
  caller: Caller,
  of: { kind: Kind; id: string },
  what: ContentKind,
): Promise<void> {
  if (!caller.scopes.has("admin") || caller.actor === systemCaller(caller.tenantId).actor) return;
  const name = JSON.stringify([caller.tenantId, caller.keyId ?? caller.actor, of.id]);
  const now = deps.clock.now();
  const seen = seenBy(deps);
  const before = seen.get(name);
  if (before !== undefined && now - before < everyMs) return;
  seen.set(name, now);
  if (await isOwn(deps, caller, of)) return;
  try {
    const resource = { object: of.kind, id: of.id };
    await runCommand(deps, noteAudit, caller, { action: "content.read", resource, details: { what } });
  } catch (error) {
    seen.delete(name);
    // A disk that takes no writes must not keep administrators from looking.
    if (!(error instanceof HarnessError) || error.code !== "service_unavailable") throw error;
  }
}

function seenBy({ locks }: KernelDeps): Map<string, number> {
  const known = looked.get(locks);
  if (known !== undefined && known.size < keptMax) return known;
  const fresh = new Map<string, number>();
  looked.set(locks, fresh);
  return fresh;
}

/** Whether the same credential made it, as the event says with which it began. Another key may have been given any actor. */
async function isOwn(
  { store }: KernelDeps,
  { tenantId, actor, keyId }: Caller,
  { kind, id }: { kind: Kind; id: string },
): Promise<boolean> {
  const own = store.of(tenantId);
  const born = (await own.get(kind, id))?.born;
  if (born === undefined) return false;
  const [first] = await own.events({ after: born - 1, through: born, limit: 1 });
  return first?.actor === actor && first.keyId === keyId;
}

/**
 * Erase what all sessions of a tenant hold, and what belongs to it outside of sessions. What the tenant set up (workspaces,
 * personas, quotas, keys) is configuration and stays; the tenant can go on.
 */

import { type Caller, isBound, systemCaller } from "../../../policy/caller.ts";
import type { TenantStore } from "../../../store/port.ts";
import { requireScope } from "../../access/authorize.ts";
import { audited } from "../../audit/record.ts";
import { type Command, runCommand } from "../../core/dispatch.ts";
import { HarnessError, notFound } from "../../core/errors.ts";
import type { Records } from "../../core/fold.ts";
import { paginate } from "../../core/paginate.ts";
import type { WholeDeps } from "../../core/unit.ts";
import type { TenantRecord } from "../../kinds/tenant.ts";
import { defaultTenantId } from "../../workspaces/ensure-tenant.ts";
import { placeOf } from "../../workspaces/files.ts";
import { dropUnreferenced } from "./blobs.ts";
import { eraseLoose } from "./erase-loose.ts";
import { recordErased, replaceContent, requestErasure } from "./erase-session.ts";

/** Kinds that hold content and may belong to no session. */
const contentKinds: readonly string[] = ["artifact", "memory", "harp_session"];

export interface EraseTenant {
  tenantId: string;
  reason?: string | undefined;
}

/** For an administrator of the whole tenant, or of the default tenant: whoever runs the server. */
export async function eraseTenant(
  deps: WholeDeps,
  caller: Caller,
  { tenantId, reason }: EraseTenant,
): Promise<TenantRecord> {
  requireScope(caller, "admin");
  const isTheirs = caller.tenantId === tenantId || caller.tenantId === defaultTenantId;
  if (!isTheirs) throw notFound("tenant", tenantId);
  if (isBound(caller)) {
    throw new HarnessError(
      "permission_denied",
      "A key bound to workspaces, agents or personas cannot erase a tenant.",
    );
  }
  const inside: Caller = { ...systemCaller(tenantId), actor: caller.actor };
  await runCommand(deps, requestTenantErasure, inside, { tenantId, reason, by: caller });
  await finishTenantErasure(deps, tenantId);
  const document = await deps.store.of(tenantId).get("tenant", tenantId);
  if (document === undefined) throw notFound("tenant", tenantId);
  return document.body as TenantRecord;
}

const requestTenantErasure: Command<EraseTenant & { by: Caller }, TenantRecord> = {
  name: "erase_tenant",
  scope: "admin",
  audit: ({ by }, tenant) => ({ ...audited("tenant.erase", tenant), by }),
  decide(unit, { tenantId, reason = null }) {
    const tenant = unit.require("tenant", tenantId);
    if (tenant.erasure?.erased_at === null) return tenant;
    return unit.emit(tenant, "vendor.bridle.tenant.erasure_requested", {
      erasure: { requested_at: unit.at, requested_by: unit.caller.actor, reason, erased_at: null },
    });
  },
};

/** Does what was asked for and is not done yet: of what was there when it was asked for. */
export async function finishTenantErasure(deps: WholeDeps, tenantId: string): Promise<void> {
  const release = await deps.locks.acquire(`erasure:${tenantId}`);
  try {
    const tenant = (await deps.store.of(tenantId).get("tenant", tenantId))?.body as TenantRecord | undefined;
    if (tenant?.erasure === undefined || tenant.erasure.erased_at !== null) return;
    const { reason, requested_at } = tenant.erasure;
    const system = systemCaller(tenantId);
    const blobs = await eraseLoose(deps, tenantId, ({ object }) => contentKinds.includes(object));
    for await (const workspace of recordsOf(deps.store.of(tenantId), "workspace"))
      await deps.files.erase(placeOf(workspace));
    const erased: { sessionId: string; eventCount: number }[] = [];
    for await (const session of recordsOf(deps.store.of(tenantId), "session")) {
      if (session.created_at > requested_at || session.erasure?.erased_at != null) continue;
      await runCommand(deps, requestErasure, system, { sessionId: session.id, reason: reason ?? undefined });
      const replaced = await replaceContent(deps, tenantId, session.id);
      for (const sha256 of replaced.blobs) blobs.add(sha256);
      erased.push({ sessionId: session.id, eventCount: replaced.eventCount });
    }
    await dropUnreferenced(deps.store, blobs);
    await deps.store.scrub();
    for (const done of erased) await runCommand(deps, recordErased, system, done);
    await runCommand(deps, recordTenantErased, system, { tenantId, sessionCount: erased.length });
  } finally {
    release();
  }
}

const recordTenantErased: Command<{ tenantId: string; sessionCount: number }, TenantRecord> = {
  name: "record_tenant_erased",
  scope: "admin",
  decide(unit, { tenantId, sessionCount }) {
    const tenant = unit.require("tenant", tenantId);
    return unit.emit(tenant, "vendor.bridle.tenant.erased", { session_count: sessionCount });
  },
};

async function* recordsOf<K extends "session" | "workspace">(
  store: TenantStore,
  kind: K,
): AsyncGenerator<Records[K]> {
  for await (const page of paginate(store, { kind })) {
    for (const { body } of page) yield body as Records[K];
  }
}

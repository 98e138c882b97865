/** At start: a retention period that is another than the one recorded last is recorded. */

import { systemCaller } from "../../policy/caller.ts";
import { runCommand } from "../core/dispatch.ts";
import type { KernelDeps } from "../core/unit.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { noteAudit } from "./note.ts";
import { listAudit } from "./read-audit.ts";

const action = "retention.change";
const dayMs = 24 * 60 * 60 * 1000;

export async function noteRetentionSetting(deps: KernelDeps): Promise<void> {
  const system = systemCaller(defaultTenantId);
  const { data } = await listAudit(deps, system, { action, limit: 1 });
  const before = data[0]?.details.retain_days ?? null;
  const retain_days = deps.retainMs === null ? null : deps.retainMs / dayMs;
  if (before === retain_days) return;
  await runCommand(deps, noteAudit, system, { action, resource: null, details: { retain_days, before } });
}

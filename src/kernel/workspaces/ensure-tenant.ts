/**
 * Make sure that a tenant exists with a workspace and a persona for every loaded agent, so that a first task needs no
 * set-up. Runs at start for the default tenant, and when an administrator makes a key for a new one.
 */

import type { Command } from "../core/dispatch.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaRecord } from "../kinds/persona.ts";
import type { TenantRecord } from "../kinds/tenant.ts";
import { emitWorkspace } from "./emit-workspace.ts";

export const defaultTenantId = "tenant_default";
/** The agent of the persona that a task gets when it names none; and of messages that name none, unless the server has another. */
export const defaultAgent = "echo";

export const ensureTenant: Command<{ tenantId: string }, TenantRecord> = {
  name: "ensure_tenant",
  scope: "admin",
  isAllowedWithoutRoom: true,
  /** The caller must be of this tenant. */
  decide(unit, { tenantId }) {
    const known = unit.find("tenant", tenantId);
    const tenant = known ?? newTenant(unit, tenantId);
    if (!unit.deps.defaultPersonas) return tenant;
    const agents = unit.deps.agents.list().filter((agent) => agent.name !== defaultAgent);
    for (const agent of agents) {
      const id = personaIdOf(agent.name, tenantId);
      if (unit.find("persona", id) === undefined) emitPersona(unit, id, agent);
    }
    return tenant;
  },
};

function newTenant(unit: Unit, tenantId: string): TenantRecord {
  const tenant: TenantRecord = {
    id: tenantId,
    object: "tenant",
    tenant_id: tenantId,
    created_at: unit.at,
    updated_at: unit.at,
    metadata: {},
    default_workspace_id: nameIn(tenantId, "workspace_default"),
    default_persona_id: personaIdOf(defaultAgent, tenantId),
    quota_ids: [],
    organization_quota_ids: [],
  };
  unit.emit(tenant, "vendor.bridle.tenant.created", { tenant });
  emitWorkspace(unit, { name: "Default", root: "." }, tenant.default_workspace_id);
  if (unit.deps.defaultPersonas) {
    const description = "Answers every task with what it was given.";
    const agent = { name: defaultAgent, description, signed_approvals: false };
    emitPersona(unit, tenant.default_persona_id, agent);
  }
  return tenant;
}

/** The persona that an agent has from the start. */
export function personaIdOf(agent: string, tenantId: string): string {
  return nameIn(tenantId, `persona_${agent === defaultAgent ? "default" : agent}`);
}

/** Names that people type in the default tenant; elsewhere the tenant's name keeps them unique. */
export function nameIn(tenantId: string, name: string): string {
  return tenantId === defaultTenantId ? name : `${name}.${tenantId}`;
}

function emitPersona(
  unit: Unit,
  id: string,
  { name, description, signed_approvals }: { name: string; description: string; signed_approvals: boolean },
): PersonaRecord {
  const persona: PersonaRecord = {
    ...unit.envelope("persona", "persona"),
    id,
    metadata: {},
    name,
    version: "1",
    entry_workflow: name,
    description,
    autonomy_tier: "act_auto",
    receipt_policy: "required",
    ...(signed_approvals ? { approval_policy: { channel: "harp" } } : {}),
  };
  return unit.emit(persona, "vendor.bridle.persona.created", { persona });
}

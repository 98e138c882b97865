/** Create a persona: from here on tasks can name it, and its schedules run. */

import { isBound } from "../../policy/caller.ts";
import type { JsonObject } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { PersonaFields, PersonaRecord } from "../kinds/persona.ts";
import { requireQuotaFor } from "../quotas/applicable.ts";
import { nameSchedules, syncSchedules } from "../schedules/schedules.ts";
import { assertEnforced } from "./assert-enforced.ts";
import { readRollout, refused } from "./rollout.ts";

export type CreatePersona = PersonaFields & { metadata?: JsonObject | undefined };

export const createPersona: Command<CreatePersona, PersonaRecord> = {
  name: "create_persona",
  scope: "personas:write",
  audit: (_, persona) => audited("persona.create", persona, { name: persona.name }),
  decide(unit, { metadata, ...fields }) {
    refuseBoundKeys(unit);
    requireReferences(unit, fields);
    if (readRollout(fields.rollout_policy) !== null)
      throw refused("A new persona has no version before it; set rollout_policy with a change.");
    const persona: PersonaRecord = {
      ...unit.envelope("persona", "persona"),
      metadata: metadata ?? {},
      ...fields,
      ...unit.madeBy,
      ...(fields.schedules === undefined ? {} : { schedules: nameSchedules(unit, fields.schedules, []) }),
    };
    const created = unit.emit(persona, "vendor.bridle.persona.created", { persona });
    syncSchedules(unit, created);
    return created;
  },
};

/** A persona is for the whole tenant and can run any agent, so a bound key must not make or change one. */
export function refuseBoundKeys({ caller }: Unit): void {
  if (!isBound(caller)) return;
  throw new HarnessError(
    "permission_denied",
    "Personas are for the whole tenant; a key bound to workspaces, agents or personas cannot change them.",
  );
}

/** What a persona names must be there. */
export function requireReferences(unit: Unit, fields: Partial<PersonaFields>): void {
  const { quorum = 1, approvers } = fields.approval_policy ?? {};
  if (approvers !== undefined && new Set(approvers).size < quorum) {
    throw new HarnessError(
      "invalid_request",
      `A quorum of ${quorum} cannot be reached by ${new Set(approvers).size} approvers.`,
      { param: "approval_policy.quorum" },
    );
  }
  assertEnforced(unit, fields);
  if (fields.quota_id != null) requireQuotaFor(unit, fields.quota_id, "persona");
  const { schedules = [] } = fields;
  unit.prefetch(
    schedules.flatMap(({ workspace_id, session_id }) => [
      ...(workspace_id === undefined ? [] : [{ kind: "workspace", id: workspace_id } as const]),
      ...(session_id === undefined ? [] : [{ kind: "session", id: session_id } as const]),
    ]),
  );
  for (const schedule of schedules) {
    if (schedule.workspace_id !== undefined) unit.require("workspace", schedule.workspace_id);
    if (schedule.session_id !== undefined) unit.require("session", schedule.session_id);
  }
}

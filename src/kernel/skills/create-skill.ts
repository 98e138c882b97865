/** Register a skill, for the whole tenant. */

import { requireWholeTenant } from "../access/authorize.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { assertJsonSchema } from "../core/json-schema.ts";
import type { SkillFields, SkillRecord } from "../kinds/skill.ts";

export const createSkill: Command<SkillFields, SkillRecord> = {
  name: "create_skill",
  scope: "skills:write",
  audit: (_, skill) => audited("skill.create", skill, { name: skill.name }),
  decide(unit, fields) {
    requireWholeTenant(unit.caller, "name");
    assertSchemas(fields);
    const skill: SkillRecord = { ...unit.envelope("skill", "skill"), ...fields, deleted_at: null };
    return unit.emit(skill, "vendor.bridle.skill.created", { skill });
  },
};

export function assertSchemas(fields: Partial<SkillFields>): void {
  for (const name of ["input_schema", "output_schema"] as const) {
    const schema = fields[name];
    if (schema != null) assertJsonSchema(schema, name);
  }
}

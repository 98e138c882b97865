/** Change a registered skill. Those that agents bring along change with the agent's code. */

import { requireWholeTenant } from "../access/authorize.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import type { SkillFields, SkillRecord } from "../kinds/skill.ts";
import { assertSchemas } from "./create-skill.ts";
import { requireRegistered } from "./skills.ts";

export const updateSkill: Command<{ skillId: string; changes: Partial<SkillFields> }, SkillRecord> = {
  name: "update_skill",
  scope: "skills:write",
  audit: ({ changes }, skill) => audited("skill.update", skill, { changed: Object.keys(changes) }),
  decide(unit, { skillId, changes }) {
    const skill = requireRegistered(unit, skillId);
    requireWholeTenant(unit.caller, "skill_id");
    assertSchemas(changes);
    if (Object.keys(changes).length === 0) return skill;
    return unit.emit(skill, "vendor.bridle.skill.updated", { changes });
  },
};

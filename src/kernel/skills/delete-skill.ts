/** Delete a registered skill. Sessions that were given it keep its id. */

import { requireWholeTenant } from "../access/authorize.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import type { SkillRecord } from "../kinds/skill.ts";
import { requireRegistered } from "./skills.ts";

export const deleteSkill: Command<{ skillId: string }, SkillRecord> = {
  name: "delete_skill",
  scope: "skills:write",
  audit: (_, skill) => audited("skill.delete", skill),
  isAllowedWithoutRoom: true,
  decide(unit, { skillId }) {
    const skill = requireRegistered(unit, skillId);
    requireWholeTenant(unit.caller, "skill_id");
    return unit.emit(skill, "vendor.bridle.skill.deleted", {});
  },
};

/** A skill that was registered here: something that can be called or loaded, with the schemas of what goes in and comes out. */

import type { JsonObject } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";

export interface SkillFields {
  name: string;
  description: string;
  input_schema: JsonObject | null;
  output_schema: JsonObject | null;
  source: string | null;
  version: string | null;
  capabilities: string[];
  requires_approval: boolean;
  deprecated: boolean;
  metadata: JsonObject;
}

export interface SkillRecord extends Resource<"skill">, SkillFields {
  deleted_at: string | null;
}

const changeable: MembersOf<Partial<SkillFields>> = {
  name: true,
  description: true,
  input_schema: true,
  output_schema: true,
  source: true,
  version: true,
  capabilities: true,
  requires_approval: true,
  deprecated: true,
  metadata: true,
};

export function foldSkill(skill: SkillRecord, event: KernelEvent): SkillRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.skill.updated":
      return { ...skill, ...picked(event.payload.changes, changeable), updated_at: at };
    case "vendor.bridle.skill.deleted":
      return { ...skill, deleted_at: at, updated_at: at };
    default:
      return skill;
  }
}

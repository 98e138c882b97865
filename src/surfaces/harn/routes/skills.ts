/** Skills and tools: those of the loaded agents, and skills that were registered. */

import type { Static } from "typebox";
import type { SkillFields } from "../../../kernel/kinds/skill.ts";
import { createSkill } from "../../../kernel/skills/create-skill.ts";
import { deleteSkill } from "../../../kernel/skills/delete-skill.ts";
import { getSkill, getTool, listSkills, listTools } from "../../../kernel/skills/read-skills.ts";
import { updateSkill } from "../../../kernel/skills/update-skill.ts";
import { presentPage } from "../lists.ts";
import { presentSkill, presentTool } from "../present.ts";
import { jsonObject } from "../read-input.ts";
import { type Route, route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { CreateSkillRequest, Skill, Tool, UpdateSkillRequest } from "../schemas-knowledge.ts";

const tag = "Skills";

/** What comes with an agent is there since the server started. */
export function skillRoutes(createdAt: string): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/skills",
      operationId: "listSkills",
      scope: "skills:read",
      summary: "List skills: those that were registered, then those of the loaded agents.",
      tag,
      query: PageQuery,
      response: ListOf(Skill),
      async handle(call) {
        const page = await listSkills(call.kernel, call.caller, call.query);
        return presentPage(page, (skill) => presentSkill(skill, createdAt));
      },
    }),
    route({
      method: "POST",
      path: "/v1/skills",
      operationId: "createSkill",
      scope: "skills:write",
      summary: "Register a skill.",
      tag,
      status: 201,
      body: CreateSkillRequest,
      response: Skill,
      async handle(call) {
        const { name, description } = call.body;
        const fields = { ...unsaid, ...skillFields(call.body), name, description };
        return presentSkill(await call.dispatch(createSkill, fields), createdAt);
      },
    }),
    route({
      method: "GET",
      path: "/v1/skills/{skill_id}",
      operationId: "getSkill",
      scope: "skills:read",
      summary: "Read a skill.",
      tag,
      response: Skill,
      async handle(call) {
        return presentSkill(await getSkill(call.kernel, call.caller, call.param("skill_id")), createdAt);
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/skills/{skill_id}",
      operationId: "updateSkill",
      scope: "skills:write",
      summary: "Change a registered skill.",
      tag,
      body: UpdateSkillRequest,
      response: Skill,
      async handle(call) {
        const request = { skillId: call.param("skill_id"), changes: skillFields(call.body) };
        return presentSkill(await call.dispatch(updateSkill, request), createdAt);
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/skills/{skill_id}",
      operationId: "deleteSkill",
      scope: "skills:write",
      summary: "Delete a registered skill.",
      tag,
      status: 204,
      async handle(call) {
        await call.dispatch(deleteSkill, { skillId: call.param("skill_id") });
      },
    }),
    ...toolRoutes(createdAt),
  ];
}

function toolRoutes(createdAt: string): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/tools",
      operationId: "listTools",
      scope: "tools:read",
      summary: "List the tools that the loaded agents declare.",
      tag: "Tools",
      query: PageQuery,
      response: ListOf(Tool),
      async handle(call) {
        return presentPage(listTools(call.kernel, call.caller, call.query), (tool) =>
          presentTool(tool, createdAt),
        );
      },
    }),
    route({
      method: "GET",
      path: "/v1/tools/{tool_id}",
      operationId: "getTool",
      scope: "tools:read",
      summary: "Read the description of a tool.",
      tag: "Tools",
      response: Tool,
      async handle(call) {
        return presentTool(getTool(call.kernel, call.caller, call.param("tool_id")), createdAt);
      },
    }),
  ];
}

const unsaid = {
  input_schema: null,
  output_schema: null,
  source: null,
  version: null,
  capabilities: [],
  requires_approval: false,
  deprecated: false,
  metadata: {},
} satisfies Partial<SkillFields>;

/** What a body says, and nothing about what it does not say. */
function skillFields(body: Static<typeof UpdateSkillRequest>): Partial<SkillFields> {
  const { input_schema, output_schema, metadata, ...plain } = body;
  const { name, description, source, version, capabilities, requires_approval, deprecated } = plain;
  const fields = {
    name,
    description,
    source,
    version,
    capabilities,
    requires_approval,
    deprecated,
    input_schema: input_schema === null ? null : jsonObject(input_schema),
    output_schema: output_schema === null ? null : jsonObject(output_schema),
    metadata: jsonObject(metadata),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** `bridle agents`: who can be given tasks. */

import type { Command } from "commander";
import type { Agent } from "../../sdk/client/index.ts";
import { Remote } from "../remote.ts";
import { remoteCommand, type Settings } from "../task/command.ts";
import { show } from "../terminal/output.ts";
import { styleOf } from "../terminal/style.ts";
import { facts, table } from "../terminal/table.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";

export function addAgentCommands(program: Command): void {
  const agents = program.command("agents").description("Who can be given tasks: the agents of the server.");
  remoteCommand(agents, "list", "Every agent, in a line.", ["bridle agents", "bridle agents --json"], {
    isDefault: true,
  }).action(async (settings: Settings) => {
    const { client } = new Remote(settings);
    const { taken } = await import("../task/list.ts");
    const { items } = await taken(client.agents.all(), { all: true });
    show(settings, items, () => agentTable(items));
  });
  remoteCommand(agents, "show <name>", "One agent: versions, persona, skills and what they take.", [
    "bridle agents show assistant",
  ]).action(async (name: string, settings: Settings) => {
    const { client } = new Remote(settings);
    const { agentOf } = await import("../task/find-task.ts");
    const agent = await agentOf(client, name);
    show(settings, agent, () => agentText(agent));
  });
}

function agentTable(agents: readonly Agent[]): string {
  const rows = agents.map(({ name, version, persona_id, skills, description }) => [
    name,
    version,
    persona_id ?? "",
    skills.map(({ id }) => id).join(" "),
    description,
  ]);
  return table(["AGENT", "VERSION", "PERSONA", "SKILLS", "WHAT IT DOES"], rows);
}

function agentText(agent: Agent): string {
  const { name, version, versions, persona_id, description, input_schema, skills, tools } = agent;
  const rows: [string, string | null][] = [
    ["Agent", `${name}@${version}`],
    ["Versions", versions.length > 1 ? versions.join(", ") : null],
    ["Persona", persona_id ?? "none"],
    ["Does", description === "" ? null : description],
    ["Tools", tools.length === 0 ? null : tools.join(", ")],
    ["Input", input_schema === null ? "text" : inputText(input_schema)],
  ];
  const { faint, strong } = styleOf();
  const shown = skills.map((skill) => {
    const takes = skill.input_schema === null ? "" : `    takes ${inputText(skill.input_schema)}\n`;
    return `  ${strong(oneLine(skill.id))}  ${oneLine(skill.description)}\n${takes}`;
  });
  const heading = skills.length === 0 ? "" : `${faint("Skills")}\n`;
  return `${facts(rows)}${heading}${shown.join("")}${exampleOf(agent)}`;
}

/** The names of the fields with their types, `?` for those that can be left out; anything else as it is. */
function inputText(schema: Record<string, unknown>): string {
  const { properties, required } = schema;
  if (typeof properties !== "object" || properties === null) return escapedJson(schema);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, field]) => {
    const type = typeof field === "object" && field !== null && "type" in field ? String(field.type) : "any";
    return `${name}${needed.includes(name) ? "" : "?"}: ${type}`;
  });
  return oneLine(`{ ${fields.join(", ")} }`);
}

function exampleOf({ name, input_schema }: Agent): string {
  const input = input_schema === null ? "TEXT" : "--input JSON";
  return `Give it a task: bridle task submit ${oneLine(name)} ${input}\n`;
}

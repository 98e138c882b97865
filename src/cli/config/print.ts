/** The settings that were found, for a person or a script, and what the project brings, a line each. */

import type { Project } from "../../project/load.ts";
import { shown } from "../../project/load-problem.ts";
import { models } from "../doctor/of-project.ts";
import { table } from "../terminal/table.ts";
import { escapedJson, oneLine } from "../terminal/text.ts";
import type { FoundSetting, FoundSource } from "./found-settings.ts";

interface Found {
  settings: readonly FoundSetting[];
  project: Project;
}

export function factsOf({ settings, project }: Found): string {
  return `${escapedJson(
    {
      settings: settings.map(({ name, value, isSecret, source }) => ({
        name,
        // A secret is there or not.
        ...(isSecret ? { is_set: value !== null } : { value }),
        source,
      })),
      project: factsOfProject(project),
    },
    2,
  )}\n`;
}

export function asText({ settings, project }: Found, withSources: boolean): string {
  const rows = settings.map(({ name, value, source }) => [
    name,
    inWords(value),
    ...(withSources ? [sourceInWords(source)] : []),
  ]);
  const { config, agents, personas, mcp_servers, tools, models: told } = factsOfProject(project);
  const lines = Object.entries({
    config: config ?? "none",
    agents,
    personas,
    mcp_servers,
    tools,
    models: told,
  });
  const width = Math.max(...lines.map(([name]) => name.length));
  const brought = lines.map(([name, value]) => {
    return `${name.replace("mcp_servers", "MCP servers").padEnd(width)}  ${oneLine(inWords(value))}\n`;
  });
  return `${table(["setting", "value", ...(withSources ? ["from"] : [])], rows)}\nThe project here:\n${brought.join("")}`;
}

/** Names only: what is behind them may be secret. */
function factsOfProject({ file, agents, personas, mcpServers, tools, models: settings }: Project) {
  return {
    config: file === null ? null : shown(file),
    agents: agents.map(({ agent }) => `${agent.name}@${agent.version}`),
    personas: personas.map(({ name }) => name),
    mcp_servers: Object.keys(mcpServers),
    tools: tools.map(({ name }) => name),
    models: models(settings, process.env).message,
  };
}

function inWords(value: FoundSetting["value"]): string {
  if (value === null || value === "") return "-";
  if (!Array.isArray(value)) return String(value);
  return value.length === 0 ? "none" : value.join(" ");
}

function sourceInWords({ kind, name }: FoundSource): string {
  if (kind === "default" || name === null) return "default";
  return kind === "environment" ? `environment: ${name}` : name;
}

/** Whether what a configuration file exports is a configuration. The settings of the server are read by those who know them. */

import { Type } from "typebox";
import { readMcpServers } from "../mcp-client/settings.ts";
import { ModelSettings } from "../models/settings.ts";
import { CreatePersonaRequest } from "../surfaces/harn/schemas-policy.ts";
import { checker } from "../surfaces/validate.ts";
import { toolEffects } from "../tools/tool.ts";
import type { BridleConfig } from "./config.ts";
import { suggestion } from "./suggestion.ts";

/** Something in a configuration file that its author has to put right. The message names the file and the property. */
export class ConfigProblem extends Error {
  override name = "ConfigProblem";

  constructor(file: string, problem: string) {
    super(`${file}: ${problem}`);
  }
}

const strict = { additionalProperties: false } as const;
const Text = Type.String({ minLength: 1 });
const Tool = Type.Object({ name: Text, description: Text, effect: Type.Enum([...toolEffects]) });
const { version, ...personaProperties } = CreatePersonaRequest.properties;
const Persona = Type.Object({ ...personaProperties, version: Type.Optional(version) }, strict);

const Functions = Type.Array(Type.Object({}));
const checkShape = checker(
  Type.Object({
    agents: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Object({})]))),
    models: Type.Optional(ModelSettings),
    mcpServers: Type.Optional(Type.Record(Type.String(), Type.Object({}))),
    tools: Type.Optional(Functions),
    personas: Type.Optional(Type.Array(Persona)),
  }),
);
const checkTool = checker(Tool);

/** The names of what is no setting of the server. */
const ownNames = ["agents", "models", "mcpServers", "tools", "personas"];

/** Throws `ConfigProblem` unless it is one. The values of settings are left to their parsers. */
export function checkConfig(file: string, found: unknown, settingNames: readonly string[]): BridleConfig {
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new ConfigProblem(file, "it must export what defineConfig gives, as default.");
  }
  const known = [...ownNames, ...settingNames];
  const unknown = Object.keys(found).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ConfigProblem(file, `there is no setting ${unknown}.${suggestion(unknown, known)}`);
  }
  const { mcpServers = {}, tools = [] } = at(file, "", () => checkShape(found));
  at(file, "mcpServers: ", () => readMcpServers(mcpServers));
  tools.forEach((tool, index) => {
    at(file, `tools[${index}]: `, () => checkTool(tool));
    const code = "runWith" in tool ? tool.runWith : "run" in tool ? tool.run : undefined;
    if (typeof code !== "function") throw new ConfigProblem(file, `tools[${index}]: run must be a function.`);
  });
  // Checked above, but for what only the compiler can check: the signatures of functions.
  return found as BridleConfig;
}

function at<T>(file: string, place: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConfigProblem(file, place + message.replace(/^The body/, "it"));
  }
}

/** Whether what a configuration file exports is a configuration. The settings of the server are read by those who know them. */

import { Type } from "typebox";
import { CreatePersonaRequest } from "../surfaces/harn/schemas-policy.ts";
import { checker } from "../surfaces/validate.ts";
import { toolEffects } from "../tools/tool.ts";
import { type BridleConfig, providerKinds } from "./config.ts";

/** Something in a configuration file that its author has to put right. The message names the file and the property. */
export class ConfigProblem extends Error {
  override name = "ConfigProblem";

  constructor(file: string, problem: string) {
    super(`${file}: ${problem}`);
  }
}

const strict = { additionalProperties: false } as const;
const Text = Type.String({ minLength: 1 });
const Texts = Type.Record(Type.String(), Type.String());
const Dollars = Type.Number({ minimum: 0 });
const Milliseconds = Type.Integer({ minimum: 1 });

const Models = Type.Object(
  {
    default: Type.Optional(Text),
    providers: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            kind: Type.Enum([...providerKinds]),
            baseUrl: Type.Optional(Text),
            apiKey: Type.Optional(Text),
            headers: Type.Optional(Texts),
          },
          strict,
        ),
      ),
    ),
    prices: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Object(
          {
            input: Dollars,
            output: Dollars,
            cachedInput: Type.Optional(Dollars),
            cacheWrite: Type.Optional(Dollars),
          },
          strict,
        ),
      ),
    ),
    timeoutMs: Type.Optional(Milliseconds),
    idleTimeoutMs: Type.Optional(Milliseconds),
  },
  strict,
);

const Effect = Type.Enum([...toolEffects]);
const everyServer = {
  timeoutMs: Type.Optional(Milliseconds),
  effects: Type.Optional(Type.Record(Type.String(), Effect)),
};
const StdioServer = Type.Object(
  {
    command: Text,
    args: Type.Optional(Type.Array(Type.String())),
    env: Type.Optional(Texts),
    cwd: Type.Optional(Text),
    ...everyServer,
  },
  strict,
);
const HttpServer = Type.Object({ url: Text, headers: Type.Optional(Texts), ...everyServer }, strict);

const Tool = Type.Object({ name: Text, description: Text, effect: Effect });
const { version, ...personaProperties } = CreatePersonaRequest.properties;
const Persona = Type.Object({ ...personaProperties, version: Type.Optional(version) }, strict);

const Functions = Type.Array(Type.Object({}));
const checkShape = checker(
  Type.Object({
    agents: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Object({})]))),
    models: Type.Optional(Models),
    mcpServers: Type.Optional(Type.Record(Type.String(), Type.Object({}))),
    tools: Type.Optional(Functions),
    personas: Type.Optional(Type.Array(Persona)),
  }),
);
const checkStdio = checker(StdioServer);
const checkHttp = checker(HttpServer);
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
  for (const [name, server] of Object.entries(mcpServers)) {
    at(file, `mcpServers.${name}: `, () => ("command" in server ? checkStdio(server) : checkHttp(server)));
  }
  tools.forEach((tool, index) => {
    at(file, `tools[${index}]: `, () => checkTool(tool));
    if (!("run" in tool) || typeof tool.run !== "function") {
      throw new ConfigProblem(file, `tools[${index}]: run must be a function.`);
    }
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

/** The known name that needs the fewest letters changed, if these are few. */
export function suggestion(name: string, known: readonly string[]): string {
  const [best] = known
    .map((other) => ({ other, changes: distance(name.toLowerCase(), other.toLowerCase()) }))
    .sort((a, b) => a.changes - b.changes);
  if (best === undefined || best.changes > Math.max(2, Math.floor(name.length / 3))) return "";
  return ` Did you mean ${best.other}?`;
}

/** How many letters must be put in, taken out or exchanged to make one of the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [line, letter] of [...one].entries()) {
    const next = [line + 1];
    for (const [column, wanted] of [...other].entries()) {
      const exchanged = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(exchanged, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

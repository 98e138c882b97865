/** Each setting as it was found, where it comes from, and nothing of what is secret. */

import type { Command, Option } from "commander";
import { shown } from "../../project/load-problem.ts";
import { secretVariables, withoutPasswords } from "../settings/secret-files.ts";
import { serveOptions } from "../settings/settings.ts";

export interface FoundSource {
  kind: "flag" | "environment" | "config" | "default";
  /** The flag, the variable, or the file; null for a default. */
  name: string | null;
}

export interface FoundSetting {
  name: string;
  /** Null where it is not set. Of a secret, and of what is in a file, only that there is one. */
  value: string | number | boolean | string[] | null;
  isSecret: boolean;
  source: FoundSource;
}

const notSet: FoundSource = { kind: "default", name: null };

/** Not settings with a flag, and a server's all the same. */
const onlyInEnvironment = ["BRIDLE_MASTER_KEY", "BRIDLE_MASTER_KEY_PREVIOUS", "BRIDLE_GATEWAY_KEY"] as const;
type SecretName = (typeof secretVariables)[number];

/** Where each secret of the environment comes from, as long as it is still in there. */
export function secretsIn(environment: NodeJS.ProcessEnv): Map<SecretName, FoundSource> {
  const found = new Map<SecretName, FoundSource>();
  for (const name of secretVariables) {
    const file = environment[`${name}_FILE`];
    if (!environment[name]) continue;
    const from = file === undefined || file === "" ? name : `${name}_FILE (${file})`;
    found.set(name, { kind: "environment", name: from });
  }
  return found;
}

export function settingsOf(
  command: Command,
  configFile: string | null,
  secrets: ReadonlyMap<SecretName, FoundSource>,
): FoundSetting[] {
  const ofOptions = serveOptions.map((option) => {
    const value: unknown = command.getOptionValue(option.attributeName());
    const isSecret = secretOptions.includes(option.attributeName());
    const isInFile = fileOptions.includes(option.attributeName());
    return {
      name: option.attributeName(),
      value: value === undefined ? null : isSecret || isInFile ? "(set)" : plain(value),
      isSecret,
      source: sourceOf(option, command, configFile, secrets),
    };
  });
  const ofEnvironment = onlyInEnvironment.map((name) => ({
    name,
    value: secrets.has(name) ? "(set)" : null,
    isSecret: true,
    source: secrets.get(name) ?? notSet,
  }));
  return [...ofOptions, ...ofEnvironment];
}

const secretOptions = ["apiKey", "tlsKey", "databaseUrl"];
/** What was read is the content, which is not what somebody wants to see. */
const fileOptions = ["tlsCert", "tlsClientCa"];

function sourceOf(
  option: Option,
  command: Command,
  configFile: string | null,
  secrets: ReadonlyMap<string, FoundSource>,
): FoundSource {
  switch (command.getOptionValueSource(option.attributeName())) {
    case "cli":
      return { kind: "flag", name: option.long ?? null };
    case "env": {
      const variable = option.envVar ?? "";
      return secrets.get(variable) ?? { kind: "environment", name: variable };
    }
    case "config":
      return { kind: "config", name: configFile === null ? null : shown(configFile) };
    default:
      return notSet;
  }
}

function plain(value: unknown): FoundSetting["value"] {
  if (typeof value === "number" || typeof value === "boolean") return value;
  return Array.isArray(value) ? value.map(textOf) : textOf(value);
}

function textOf(value: unknown): string {
  if (typeof value === "object" && value !== null && "issuer" in value && "jwks" in value) {
    return `${textOf(value.issuer)}=${textOf(value.jwks)}`;
  }
  return withoutPasswords(String(value));
}

/** Settings from `bridle.config.ts`, read by the same parsers as flags. A flag or the environment beats them. */

import { dirname, resolve } from "node:path";
import type { Command, Option } from "commander";
import { ConfigProblem } from "../../project/check-config.ts";
import type { ConfigSettings } from "../../project/config.ts";
import { shown } from "../../project/load-problem.ts";
import { serveOptions } from "./settings.ts";

/** What says which files are loaded cannot be in one of them, and agents in a configuration may be more than paths. */
const notInConfig = ["agents", "config"];
const settings = new Map(
  serveOptions
    .filter((option) => !notInConfig.includes(option.attributeName()))
    .map((option) => [option.attributeName(), option]),
);
export const settingNames = [...settings.keys()];

/** Paths in a file are relative to the file. */
const paths = ["data", "tlsCert", "tlsKey", "tlsClientCa", "workspaceRoots", "vaultFiles"];

/** Gives the command the values that nobody gave it by flag or environment. Throws `ConfigProblem`. */
export function applyConfig(command: Command, file: string, given: ConfigSettings): void {
  for (const [name, value] of Object.entries(given)) {
    const option = settings.get(name);
    if (option === undefined || value === undefined) continue;
    const read = readSetting(option, value, file);
    const source = command.getOptionValueSource(name);
    if (source === undefined || source === "default") command.setOptionValueWithSource(name, read, "config");
  }
}

function readSetting(option: Option, value: unknown, file: string): unknown {
  const name = option.attributeName();
  const problem = (text: string) => new ConfigProblem(shown(file), `${name}: ${text}`);
  if (option.variadic !== Array.isArray(value)) {
    throw problem(option.variadic ? "it must be a list." : "it must not be a list.");
  }
  let read: unknown = option.variadic ? [] : undefined;
  for (const item of [value].flat()) {
    if (!["string", "number", "boolean"].includes(typeof item)) {
      throw problem("it must be a text, a number, or true or false.");
    }
    const text = placed(name, String(item), dirname(file));
    try {
      if (option.parseArg !== undefined) read = option.parseArg(text, read);
      else read = option.variadic ? [...[read].flat(), text] : text;
    } catch (error) {
      throw problem(error instanceof Error ? error.message : String(error));
    }
  }
  return read;
}

function placed(name: string, text: string, directory: string): string {
  if (paths.includes(name)) return text === "" ? text : resolve(directory, text);
  const [, issuer, keys = ""] = name === "oauthIssuer" ? (/^([^=]+)=(.+)$/.exec(text) ?? []) : [];
  return issuer === undefined || /^https?:/.test(keys) ? text : `${issuer}=${resolve(directory, keys)}`;
}

/** Which providers can be used, with which key and at which address; and what to set for those that cannot. */

import { readFileSync } from "node:fs";
import { guideProvider } from "./guide.ts";
import { ModelError } from "./model.ts";
import {
  baseUrlPattern,
  type Environment,
  type ModelSettings,
  type ProviderKind,
  type ProviderSettings,
} from "./settings.ts";

export interface Provider {
  name: string;
  kind: ProviderKind;
  baseUrl: string;
  apiKey: string | null;
  headers: Readonly<Record<string, string>>;
}

/** A file with more than a key in it is another file. */
const keyCharactersMax = 8192;

/** Those that need no settings. `local` has its address from the environment. */
const builtIn: Readonly<Record<string, ProviderKind>> = {
  anthropic: "anthropic",
  openai: "openai",
  google: "google",
  local: "openai-compatible",
};

// Always given to the SDK, which would otherwise look into the environment of the process for another one.
const ownAddress: Readonly<Record<Exclude<ProviderKind, "openai-compatible">, string>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
};

const localUrl = "BRIDLE_LOCAL_MODEL_URL";

export class Providers {
  readonly #settings: Readonly<Record<string, ProviderSettings>>;
  readonly #env: Environment;

  constructor(settings: ModelSettings, env: Environment) {
    this.#settings = settings.providers ?? {};
    this.#env = env;
    for (const [name, { kind }] of Object.entries(this.#settings)) {
      if (name === guideProvider) {
        throw notConfigured(
          `models.providers.${name} is taken by the tour; call the provider something else.`,
        );
      }
      const expected = Object.hasOwn(builtIn, name) ? builtIn[name] : kind;
      if (kind !== expected) {
        throw notConfigured(
          `models.providers.${name}.kind must be ${expected}; call a provider of another kind something else.`,
        );
      }
    }
  }

  /** Throws what to set when it cannot be used. */
  find(name: string): Provider {
    const found = this.#look(name);
    if (typeof found === "string") throw notConfigured(`${found} ${this.#configured()}`);
    return found;
  }

  malformed(name: string): ModelError {
    return notConfigured(
      `${quoted(name)} is not the name of a model. Write provider/model, such as anthropic/claude-sonnet-5-5. ${this.#configured()}`,
    );
  }

  /** The provider, or in words what is missing. */
  #look(name: string): Provider | string {
    const settings = this.#settingsOf(name);
    if (settings === undefined) {
      return `There is no provider ${quoted(name)}. Add it to the configuration as models.providers.${printable(name)}, with its kind, baseUrl and apiKey.`;
    }
    const baseUrl = this.#baseUrl(name, settings);
    if (baseUrl === null) {
      const variable = name === "local" ? `${localUrl} or ` : "";
      return `The provider ${name} has no address. Set ${variable}models.providers.${name}.baseUrl to its base URL, such as http://127.0.0.1:11434/v1.`;
    }
    const variable = keyVariable(name);
    const file = this.#variable(`${variable}_FILE`);
    const given = settings.apiKey ?? this.#variable(variable) ?? (file === undefined ? null : readKey(file));
    if (given === null && settings.kind !== "openai-compatible") {
      return `The provider ${name} has no key. Set ${variable}, ${variable}_FILE (a file that holds it) or models.providers.${name}.apiKey.`;
    }
    if (given instanceof UnreadableKey) {
      return `The file that ${variable}_FILE names ${given.reason}.`;
    }
    return { name, kind: settings.kind, baseUrl, apiKey: given, headers: settings.headers ?? {} };
  }

  #settingsOf(name: string): ProviderSettings | undefined {
    if (Object.hasOwn(this.#settings, name)) return this.#settings[name];
    const kind = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined;
    return kind === undefined ? undefined : { kind };
  }

  #baseUrl(name: string, { kind, baseUrl }: ProviderSettings): string | null {
    if (baseUrl !== undefined) return baseUrl;
    if (kind !== "openai-compatible") return ownAddress[kind];
    const url = name === "local" ? this.#variable(localUrl) : undefined;
    return url !== undefined && baseUrlPattern.test(url) ? url : null;
  }

  #variable(name: string): string | undefined {
    const value = this.#env[name]?.trim();
    return value === "" ? undefined : value;
  }

  /** The names of those that have all they need. */
  usable(): string[] {
    const known = new Set([...Object.keys(builtIn), ...Object.keys(this.#settings)]);
    return [...known].filter((name) => typeof this.#look(name) !== "string");
  }

  #configured(): string {
    const usable = this.usable();
    return usable.length === 0 ? "No provider is configured." : `Configured are: ${usable.join(", ")}.`;
  }
}

/** The variable that the provider's own tools read, and for others one that is made in the same way. */
function keyVariable(name: string): string {
  if (name === "google") return "GOOGLE_GENERATIVE_AI_API_KEY";
  if (name === "local") return "BRIDLE_LOCAL_MODEL_KEY";
  return `${name.toUpperCase().replaceAll("-", "_")}_API_KEY`;
}

class UnreadableKey {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

function readKey(file: string): string | UnreadableKey {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    return new UnreadableKey(`cannot be read${code}`);
  }
  const isKey = text !== "" && text.length <= keyCharactersMax && !/\s/.test(text);
  return isKey ? text : new UnreadableKey("must hold one key and nothing else");
}

function notConfigured(message: string): ModelError {
  return new ModelError("model_not_configured", message);
}

function printable(name: string): string {
  return /^[\w-]{1,32}$/.test(name) ? name : "<name>";
}

function quoted(name: string): string {
  const nameCharactersMax = 80;
  return JSON.stringify(name.length > nameCharactersMax ? `${name.slice(0, nameCharactersMax)}…` : name);
}

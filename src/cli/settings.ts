/** The settings of `bridle serve`: one name everywhere, by flag or environment, with a default. */

import { InvalidArgumentError, Option } from "commander";
import { defaultConfig } from "../config.ts";
import { parseMasterKey } from "../policy/vault-crypto.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export interface ServeSettings {
  port: number;
  host: string;
  data: string;
  apiKey?: string;
  logLevel: (typeof logLevels)[number];
  concurrency: number;
  graceMs: number;
  agents: string[];
  publicUrl?: string;
  artifactBytesMax: number;
  workspaceRoots: string[];
}

const apiKeyCharsMin = 8;

export const serveOptions: readonly Option[] = [
  new Option("--port <number>", "port to listen on; 0 lets the system choose")
    .env("BRIDLE_PORT")
    .default(defaultConfig.port)
    .argParser(wholeNumber(0, 65_535)),
  new Option("--host <address>", "address to listen on; the default is reachable from this machine only")
    .env("BRIDLE_HOST")
    .default(defaultConfig.host)
    .argParser(notEmpty),
  new Option("--data <directory>", "where the log and everything else is kept")
    .env("BRIDLE_DATA")
    .default(defaultConfig.dataDirectory)
    .argParser(notEmpty),
  new Option(
    "--api-key <key>",
    "a fixed administrator key, for scripts and tests; better set in the environment",
  ).env("BRIDLE_API_KEY"),
  new Option("--agents <module...>", "modules that export agents to run beside the built-in ones")
    .env("BRIDLE_AGENTS")
    .default([], "none"),
  new Option("--public-url <url>", "where clients find the server, if not where it listens: behind a proxy")
    .env("BRIDLE_PUBLIC_URL")
    .argParser(httpUrl),
  new Option("--log-level <level>", "how much to log, as JSON lines on standard error")
    .env("BRIDLE_LOG_LEVEL")
    .choices(logLevels)
    .default("info"),
  new Option("--concurrency <number>", "runs in memory at once; more tasks wait their turn")
    .env("BRIDLE_CONCURRENCY")
    .default(defaultConfig.concurrency)
    .argParser(wholeNumber(1, 10_000)),
  new Option("--artifact-bytes-max <number>", "the largest artifact that can be uploaded")
    .env("BRIDLE_ARTIFACT_BYTES_MAX")
    .default(defaultConfig.artifactBytesMax)
    .argParser(wholeNumber(1, 2 ** 40)),
  new Option(
    "--workspace-roots <directory...>",
    "directories in which a workspace may have its own root; files of others are in the data directory",
  )
    .env("BRIDLE_WORKSPACE_ROOTS")
    .default([], "none"),
  new Option("--grace-ms <number>", "how long running steps may go on after Ctrl-C")
    .env("BRIDLE_GRACE_MS")
    .default(10_000)
    .argParser(wholeNumber(0, 600_000)),
];

function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

export function httpUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("It must be an http or https URL.");
}

function notEmpty(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It must not be empty.");
}

/**
 * The master key of vaults and the one before it, from the environment only: a flag is in the list of processes, and what
 * is left in the environment is handed on to every process that an agent starts.
 */
export function takeMasterKeys(environment: NodeJS.ProcessEnv): string[] {
  const names = ["BRIDLE_MASTER_KEY", "BRIDLE_MASTER_KEY_PREVIOUS"];
  const keys = names.flatMap((name) => environment[name]?.trim() || []);
  for (const name of names) delete environment[name];
  return keys;
}

export function problemWithMasterKeys(keys: readonly string[]): string | null {
  if (keys.every((key) => parseMasterKey(key) !== null)) return null;
  return "BRIDLE_MASTER_KEY and BRIDLE_MASTER_KEY_PREVIOUS are 32 bytes each, as hex or base64.";
}

/** What is wrong with a key, in words that do not repeat it. */
export function problemWithApiKey(key: string): string | null {
  if (key.length >= apiKeyCharsMin && !/\s/.test(key)) return null;
  return `option '--api-key <key>' (BRIDLE_API_KEY): a key has at least ${apiKeyCharsMin} characters and no spaces.`;
}

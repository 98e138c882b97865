/** The settings of `bridle serve`: one name everywhere, by flag or environment, with a default. */

import { InvalidArgumentError, Option } from "commander";
import { defaultConfig } from "../config.ts";

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
  retainDays?: number;
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
  new Option("--grace-ms <number>", "how long running steps may go on after Ctrl-C")
    .env("BRIDLE_GRACE_MS")
    .default(10_000)
    .argParser(wholeNumber(0, 600_000)),
  new Option(
    "--retain-days <number>",
    "days after which what ended leaves the log; without it everything is kept",
  )
    .env("BRIDLE_RETAIN_DAYS")
    .argParser(wholeNumber(1, 36_500)),
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

/** What is wrong with a key, in words that do not repeat it. */
export function problemWithApiKey(key: string): string | null {
  if (key.length >= apiKeyCharsMin && !/\s/.test(key)) return null;
  return `option '--api-key <key>' (BRIDLE_API_KEY): a key has at least ${apiKeyCharsMin} characters and no spaces.`;
}

/** The settings of `bridle serve`: one name everywhere, by flag or environment, with a default. */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { createSecureContext } from "node:tls";
import { InvalidArgumentError, Option } from "commander";
import { defaultConfig, grpcPortDefault } from "../config.ts";
import type { TrustedIssuer } from "../policy/external-issuers.ts";
import { parseMasterKey } from "../policy/vault-crypto.ts";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export interface ServeSettings {
  port: number;
  grpcPort: number | "off";
  host: string;
  /** What is in the files. */
  tlsCert?: string;
  tlsKey?: string;
  data: string;
  apiKey?: string;
  logLevel: (typeof logLevels)[number];
  concurrency: number;
  graceMs: number;
  agents: string[];
  publicUrl?: string;
  oauthIssuer: TrustedIssuer[];
  oauthAudience?: string;
  authFailures: number;
  trustProxy: string[];
  corsOrigin: string[];
  artifactBytesMax: number;
  workspaceRoots: string[];
  retainDays?: number;
  openharnessWaitMs: number;
  opvsLenientVersion: boolean;
  allowPrivateAddresses: boolean;
}

const apiKeyCharsMin = 8;

export const serveOptions: readonly Option[] = [
  new Option("--port <number>", "port to listen on; 0 lets the system choose")
    .env("BRIDLE_PORT")
    .default(defaultConfig.port)
    .argParser(wholeNumber(0, 65_535)),
  new Option("--grpc-port <number>", "port for gRPC; 0 lets the system choose, off has none")
    .env("BRIDLE_GRPC_PORT")
    .default(grpcPortDefault)
    .argParser(portOrOff),
  new Option("--host <address>", "address to listen on; the default is reachable from this machine only")
    .env("BRIDLE_HOST")
    .default(defaultConfig.host)
    .argParser(notEmpty),
  new Option(
    "--tls-cert <file>",
    "certificate for both ports, with those that vouch for it (PEM); then https",
  )
    .env("BRIDLE_TLS_CERT")
    .argParser(pemFile("CERTIFICATE")),
  new Option("--tls-key <file>", "private key of the certificate (PEM, without a passphrase)")
    .env("BRIDLE_TLS_KEY")
    .argParser(pemFile("PRIVATE KEY")),
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
  new Option(
    "--oauth-issuer <issuer=jwks...>",
    "issuers whose tokens are accepted, each with the URL or file of its keys",
  )
    .env("BRIDLE_OAUTH_ISSUER")
    .default([], "none")
    .argParser(listOf(trustedIssuer)),
  new Option(
    "--oauth-audience <text>",
    "what tokens of other issuers must be made for, if not the public URL",
  )
    .env("BRIDLE_OAUTH_AUDIENCE")
    .argParser(notEmpty),
  new Option("--auth-failures <number>", "wrong credentials a minute from one address before it must wait")
    .env("BRIDLE_AUTH_FAILURES")
    .default(defaultConfig.authFailuresMax)
    .argParser(wholeNumber(1, 1_000_000)),
  new Option(
    "--trust-proxy <address...>",
    "proxies, by address or range, that are believed when they say for whom they ask (X-Forwarded-For)",
  )
    .env("BRIDLE_TRUST_PROXY")
    .default([], "none")
    .argParser(listOf(proxyAddress)),
  new Option("--cors-origin <origin...>", "origins whose scripts may use the API from a browser")
    .env("BRIDLE_CORS_ORIGIN")
    .default([], "none")
    .argParser(listOf(webOrigin)),
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
  new Option(
    "--retain-days <number>",
    "days after which what ended leaves the log; without it everything is kept",
  )
    .env("BRIDLE_RETAIN_DAYS")
    .argParser(wholeNumber(1, 36_500)),
  new Option(
    "--openharness-wait-ms <number>",
    "how long a shell waits for a response before it is told to come back",
  )
    .env("BRIDLE_OPENHARNESS_WAIT_MS")
    .default(defaultConfig.openHarness.waitMs)
    .argParser(wholeNumber(0, 3_600_000)),
  new Option(
    "--opvs-lenient-version [boolean]",
    "take OPVS calls that say no version as 1.0 when that is how they look; otherwise they are 0.3",
  )
    .env("BRIDLE_OPVS_LENIENT_VERSION")
    .default(defaultConfig.opvsLenientVersion)
    .preset("true")
    .argParser(trueOrFalse),
  new Option(
    "--allow-private-addresses [boolean]",
    "let webhooks and remote agents be on loopback and private addresses and use plain http: for development",
  )
    .env("BRIDLE_ALLOW_PRIVATE_ADDRESSES")
    .default(defaultConfig.allowPrivateAddresses)
    .preset("true")
    .argParser(trueOrFalse),
];

/** In the environment there is no flag without a value, and "false" must not mean yes. */
function trueOrFalse(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new InvalidArgumentError("It must be true or false.");
}

function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function portOrOff(text: string): number | "off" {
  if (text === "off") return text;
  try {
    return wholeNumber(0, 65_535)(text);
  } catch {
    throw new InvalidArgumentError("It must be a whole number from 0 to 65535, or off.");
  }
}

/** What is in the file, which must be of that kind. */
function pemFile(kind: string) {
  return (file: string): string => {
    const text = readText(file);
    if (new RegExp(`^-----BEGIN [A-Z0-9 ]*${kind}-----`, "m").test(text)) return text;
    throw new InvalidArgumentError(`There is no ${kind} in this file.`);
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new InvalidArgumentError(`The file cannot be read${code}.`);
  }
}

export function httpUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text.replace(/\/+$/, "");
  throw new InvalidArgumentError("It must be an http or https URL.");
}

/** One or more values, by repeated flags or, in the environment, with spaces between them. */
function listOf<T>(parse: (text: string) => T) {
  return (text: string, before: readonly T[]): T[] => [
    ...before,
    ...text.split(/\s+/).filter(Boolean).map(parse),
  ];
}

function trustedIssuer(text: string): TrustedIssuer {
  const [, issuer, jwks] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (issuer === undefined || jwks === undefined) {
    throw new InvalidArgumentError("It must be an issuer, an equals sign, and the URL or file of its keys.");
  }
  return { issuer, jwks: /^https?:/.test(jwks) ? keysUrl(jwks) : jwks };
}

/** Keys that somebody on the way can exchange prove nothing. */
function keysUrl(text: string): URL {
  const url = URL.parse(text);
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(url?.hostname ?? "");
  if (url !== null && (url.protocol === "https:" || isHere)) return url;
  throw new InvalidArgumentError("Keys must be fetched by https, or from this machine.");
}

const proxyRanges = ["loopback", "linklocal", "uniquelocal"];

function proxyAddress(text: string): string {
  const [, address = "", bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bitsMax = isIP(address) === 4 ? 32 : 128;
  const isRange =
    isIP(address) !== 0 && (bits === undefined || (Number(bits) > 0 && Number(bits) <= bitsMax));
  if (isRange || proxyRanges.includes(text)) return text;
  throw new InvalidArgumentError(`It must be an IP address, a range, or one of ${proxyRanges.join(", ")}.`);
}

function webOrigin(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin === text) return text;
  throw new InvalidArgumentError(
    "It must be an origin such as https://app.example.com, with nothing after it.",
  );
}

function notEmpty(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("It must not be empty.");
}

/** What is wrong with settings that are well-formed one by one. */
export function problemWith(settings: ServeSettings, masterKeys: readonly string[]): string | null {
  const { apiKey, oauthIssuer, oauthAudience, publicUrl } = settings;
  if (oauthIssuer.length > 0 && oauthAudience === undefined && publicUrl === undefined) {
    return "option '--oauth-issuer <issuer=jwks...>': its tokens need an audience; set --oauth-audience or --public-url.";
  }
  if (masterKeys.some((key) => parseMasterKey(key) === null)) {
    return "BRIDLE_MASTER_KEY and BRIDLE_MASTER_KEY_PREVIOUS are 32 bytes each, as hex or base64.";
  }
  return problemWithTls(settings) ?? (apiKey === undefined ? null : problemWithApiKey(apiKey));
}

function problemWithTls({ tlsCert, tlsKey }: ServeSettings): string | null {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    return "options '--tls-cert <file>' and '--tls-key <file>' need each other: set both, or neither.";
  }
  if (tlsCert === undefined || tlsKey === undefined) return null;
  try {
    createSecureContext({ cert: tlsCert, key: tlsKey });
    return null;
  } catch {
    return "options '--tls-cert <file>' and '--tls-key <file>': the key must be that of the certificate, and not locked with a passphrase.";
  }
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

/** What is wrong with a key, in words that do not repeat it. */
function problemWithApiKey(key: string): string | null {
  if (key.length >= apiKeyCharsMin && !/\s/.test(key)) return null;
  return `option '--api-key <key>' (BRIDLE_API_KEY): a key has at least ${apiKeyCharsMin} characters and no spaces.`;
}

/** The settings of `bridle serve`: one name everywhere, by flag, environment or configuration file, with a default. */

import { Option } from "commander";
import { requestsPerMinuteDefault } from "../../kernel/access/request-rates.ts";
import type { TrustedIssuer } from "../../policy/external-issuers.ts";
import { parseMasterKey } from "../../policy/vault-crypto.ts";
import {
  type BuiltInAgents,
  builtInAgentsChoices,
  defaultConfig,
  grpcPortDefault,
  type MetricsAccess,
  metricsAccesses,
} from "../../server/config.ts";
import type { DiskFloor } from "../../store/sqlite/free-space.ts";
import { isLoopbackHost } from "../../surfaces/loopback.ts";
import { type HarpSettings, harpOptions } from "./gateway-options.ts";
import {
  allowedHostsOption,
  apiKeyOption,
  authFailuresOption,
  hostOption,
  insecureHttpOption,
  type ListenSettings,
  logLevelOption,
  problemWithListening,
  tlsFileOptions,
  trustProxyOption,
} from "./listen-options.ts";
import {
  addressRange,
  databaseUrl,
  daysOrNever,
  diskFloor,
  harpId,
  httpUrl,
  listOf,
  notEmpty,
  portOrOff,
  rateOrOff,
  secureUrl,
  trueOrFalse,
  trustedIssuer,
  webOrigin,
  wholeNumber,
} from "./option-parsers.ts";

const hourMs = 60 * 60 * 1000;

export interface ServeSettings extends ListenSettings, HarpSettings {
  grpcPort: number | "off";
  harpPort: number | "off";
  rateLimit: number | "off" | "auto";
  concurrency: number;
  graceMs: number;
  stalledClientMs: number;
  agents: string[];
  config?: string;
  databaseUrl?: string;
  vaultEnvPrefix?: string;
  vaultFiles?: string;
  publicUrl?: string;
  oauthIssuer: TrustedIssuer[];
  oauthAudience?: string;
  corsOrigin: string[];
  artifactBytesMax: number;
  diskFloor: DiskFloor;
  workspaceRoots: string[];
  keyDays: number | "never";
  retainDays?: number;
  openharnessWaitMs: number;
  opvsLenientVersion: boolean;
  defaultAgent?: string;
  publicGrpcUrl?: string;
  allowPrivateAddresses: boolean;
  blockedRanges: string[];
  gateway?: string;
  enforcerId: string;
  enforcerLabel: string;
  approverWaitHours: number;
  defaultPersonas: "on" | "off";
  builtInAgents: BuiltInAgents;
  metrics: MetricsAccess;
  open: boolean;
}

export const serveOptions: readonly Option[] = [
  new Option("--port <number>", "port to listen on; 0 lets the system choose")
    .env("BRIDLE_PORT")
    .default(defaultConfig.port)
    .argParser(wholeNumber(0, 65_535)),
  new Option("--grpc-port <number>", "port for gRPC; 0 lets the system choose, off has none")
    .env("BRIDLE_GRPC_PORT")
    .default(grpcPortDefault)
    .argParser(portOrOff),
  new Option(
    "--harp-port <number>",
    "port on which the HARP gateway is alone, beside /harp; 0 lets the system choose, off has none",
  )
    .env("BRIDLE_HARP_PORT")
    .default("off")
    .argParser(portOrOff),
  hostOption(defaultConfig.host),
  ...tlsFileOptions(),
  insecureHttpOption(),
  new Option("--data <directory>", "where the log and everything else is kept")
    .env("BRIDLE_DATA")
    .default(defaultConfig.dataDirectory)
    .argParser(notEmpty),
  new Option(
    "--database-url <url>",
    "keep the log in this PostgreSQL database, as postgres://user@host/database; better set in the environment if it has a password",
  )
    .env("BRIDLE_DATABASE_URL")
    .argParser(databaseUrl),
  apiKeyOption(),
  new Option("--agents <module...>", "modules that export agents to run beside the built-in ones")
    .env("BRIDLE_AGENTS")
    .default([], "none"),
  new Option(
    "--config <file>",
    "the project's configuration; bridle.config.{ts,mts,js,mjs} in the working directory when left out",
  )
    .env("BRIDLE_CONFIG")
    .argParser(notEmpty),
  new Option("--public-url <url>", "where clients find the server, if not where it listens: behind a proxy")
    .env("BRIDLE_PUBLIC_URL")
    .argParser(httpUrl),
  new Option(
    "--public-grpc-url <url>",
    "where clients find gRPC, if not where it listens: `https://agents.example.com:443`",
  )
    .env("BRIDLE_PUBLIC_GRPC_URL")
    .argParser(httpUrl),
  new Option(
    "--default-agent <name>",
    "the agent at addresses that name none (default: the project's agent if it has one, otherwise echo)",
  )
    .env("BRIDLE_DEFAULT_AGENT")
    .argParser(notEmpty),
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
  authFailuresOption(defaultConfig.authFailuresMax),
  new Option(
    "--rate-limit <number>",
    "requests a minute that one key may send, on all protocols together, or off",
  )
    .env("BRIDLE_RATE_LIMIT")
    .default("auto", `off on loopback without a trusted proxy, otherwise ${requestsPerMinuteDefault}`)
    .argParser(rateOrOff),
  trustProxyOption(),
  allowedHostsOption(),
  new Option("--open [boolean]", "open the console in a browser, signed in")
    .env("BRIDLE_OPEN")
    .default(false)
    .preset("true")
    .argParser(trueOrFalse),
  new Option("--cors-origin <origin...>", "origins whose scripts may use the API from a browser")
    .env("BRIDLE_CORS_ORIGIN")
    .default([], "none")
    .argParser(listOf(webOrigin)),
  logLevelOption(),
  new Option(
    "--metrics <access>",
    "who may read /metrics: auth is keys with the scope metrics:read, open is everybody who reaches the port, so only for loopback or behind a proxy that refuses others, off is nobody",
  )
    .env("BRIDLE_METRICS")
    .choices(metricsAccesses)
    .default(defaultConfig.metrics),
  new Option("--concurrency <number>", "runs in memory at once; more tasks wait their turn")
    .env("BRIDLE_CONCURRENCY")
    .default(defaultConfig.concurrency)
    .argParser(wholeNumber(1, 10_000)),
  new Option("--artifact-bytes-max <number>", "the largest artifact that can be uploaded")
    .env("BRIDLE_ARTIFACT_BYTES_MAX")
    .default(defaultConfig.artifactBytesMax)
    .argParser(wholeNumber(1, 2 ** 40)),
  new Option(
    "--disk-floor <size>",
    "free disk space below which requests that add data are refused: 512MB, 2GB, 5%, or 0 for none",
  )
    .env("BRIDLE_DISK_FLOOR")
    .default(defaultConfig.diskFloor, "256MB or 1%, whichever is smaller")
    .argParser(diskFloor),
  new Option(
    "--workspace-roots <directory...>",
    "directories in which a workspace may have its own root; files of others are in the data directory",
  )
    .env("BRIDLE_WORKSPACE_ROOTS")
    .default([], "none"),
  new Option(
    "--vault-env-prefix <prefix>",
    "offer environment variables that begin so as vaults of the provider env, in the default tenant",
  )
    .env("BRIDLE_VAULT_ENV_PREFIX")
    .argParser(notEmpty),
  new Option(
    "--vault-files <directory>",
    "offer the files of this directory as vaults of the provider file, in the default tenant",
  )
    .env("BRIDLE_VAULT_FILES")
    .argParser(notEmpty),
  new Option("--grace-ms <number>", "how long running steps may go on after Ctrl-C")
    .env("BRIDLE_GRACE_MS")
    .default(10_000)
    .argParser(wholeNumber(0, 600_000)),
  new Option(
    "--stalled-client-ms <number>",
    "close a connection whose client takes nothing of a response, or sends nothing of an upload, for this long",
  )
    .env("BRIDLE_STALLED_CLIENT_MS")
    .default(300_000)
    .argParser(wholeNumber(1_000, 86_400_000)),
  new Option("--key-days <number>", "days until an API key expires that is made without expires_at, or never")
    .env("BRIDLE_KEY_DAYS")
    .default(90)
    .argParser(daysOrNever),
  new Option("--retain-days <number>", "delete finished tasks after this many days (default: never)")
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
  new Option(
    "--blocked-ranges <range...>",
    "addresses and ranges that webhooks, remote agents and http.get must not reach, beside private and link-local ones",
  )
    .env("BRIDLE_BLOCKED_RANGES")
    .default([], "none")
    .argParser(listOf(addressRange)),
  new Option(
    "--gateway <url>",
    "ask approvers through this HARP gateway instead of the one in this process; its key is BRIDLE_GATEWAY_KEY",
  )
    .env("BRIDLE_GATEWAY")
    .argParser(secureUrl),
  new Option("--enforcer-id <id>", "the name under which approvers are asked at the gateway")
    .env("BRIDLE_ENFORCER_ID")
    .default(defaultConfig.enforcer.id)
    .argParser(harpId),
  new Option("--enforcer-label <text>", "what approvers are told about who asks them; a gateway can read it")
    .env("BRIDLE_ENFORCER_LABEL")
    .default(defaultConfig.enforcer.label)
    .argParser(notEmpty),
  new Option(
    "--default-personas <choice>",
    "whether every agent has a persona from the start that may do everything",
  )
    .env("BRIDLE_DEFAULT_PERSONAS")
    .choices(["on", "off"])
    .default("on"),
  new Option(
    "--built-in-agents <choice>",
    "whether the agents rehearsal and tour are loaded; auto: while the server listens on loopback, without a trusted proxy",
  )
    .env("BRIDLE_BUILT_IN_AGENTS")
    .choices([...builtInAgentsChoices])
    .default(defaultConfig.builtInAgents),
  new Option(
    "--approver-wait-hours <number>",
    "hours in which approvers can refuse a further key of an approver before it counts without a signature; 0 for development",
  )
    .env("BRIDLE_APPROVER_WAIT_HOURS")
    .default(defaultConfig.enforcer.keyWaitMs / hourMs)
    .argParser(wholeNumber(0, 8760)),
  ...harpOptions,
];

/** What is wrong with settings that are well-formed one by one. */
export function problemWith(
  settings: ServeSettings,
  masterKeys: readonly string[],
  gatewayKey: string | null,
): string | null {
  if (settings.gateway !== undefined && gatewayKey === null) {
    return "option '--gateway <url>': set BRIDLE_GATEWAY_KEY to an API key of that gateway for this enforcer.";
  }
  if (settings.approverWaitHours === 0 && !isLoopbackHost(settings.host)) {
    return `option '--approver-wait-hours <number>': 0 is for development; ${settings.host} can be reached from elsewhere.`;
  }
  const { oauthIssuer, oauthAudience, publicUrl } = settings;
  if (oauthIssuer.length > 0 && oauthAudience === undefined && publicUrl === undefined) {
    return "option '--oauth-issuer <issuer=jwks...>': its tokens need an audience; set --oauth-audience or --public-url.";
  }
  if (masterKeys.some((key) => parseMasterKey(key) === null)) {
    return "BRIDLE_MASTER_KEY and BRIDLE_MASTER_KEY_PREVIOUS are 32 bytes each, as hex or base64.";
  }
  return problemWithListening(settings);
}

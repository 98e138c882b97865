/**
 * Servers for tests, on ports of their own, with a data directory that lives as long as the test: in this process, or in one of
 * its own where signals, crashes or the command line are the subject.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { freshBundle } from "../../build/fresh.ts";
import { settingNames } from "../../src/cli/settings/config-settings.ts";
import { type ServeSecrets, takeSecrets } from "../../src/cli/settings/secret-files.ts";
import { knownSecrets, type Serving, serverConfigOf } from "../../src/cli/settings/server-config.ts";
import { type ServeSettings, serveOptions } from "../../src/cli/settings/settings.ts";
import { loadProject } from "../../src/project/load.ts";
import { ProjectModules } from "../../src/project/modules.ts";
import type { ServerConfig } from "../../src/server/config.ts";
import { createLogger } from "../../src/server/logger.ts";
import { startServer as startInProcess } from "../../src/server/server.ts";
import { rememberServer } from "../runner/server-logs.ts";
import { databaseEnvironment } from "./database.ts";

/** The `bridle` command, bundled as it is published. */
export const main = join(await freshBundle(), "main.js");

/** Longer than any start takes, on a busy machine too. */
const startMsMax = 120_000;

export const adminKey = "test-administrator-key-0001";
export const environment = {
  PATH: process.env.PATH,
  // Hundreds of processes load the same code; what one compiled the others need not.
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/tests", import.meta.url)),
  // What imports `bridle` gets the bundle too.
  NODE_OPTIONS: "--conditions=bundled",
  BRIDLE_API_KEY: adminKey,
  BRIDLE_LOG_LEVEL: "warn",
  // Few tests speak gRPC or read metrics, and a server that does has more to load.
  BRIDLE_GRPC_PORT: "off",
  BRIDLE_METRICS: "off",
};

/** For a server that speaks gRPC too, on whatever port is free. */
export const withGrpc = { BRIDLE_GRPC_PORT: "0" };

export interface ServerOptions {
  /** Kept across restarts; a fresh one otherwise. */
  data?: string;
  /** Added to `--port 0` and `--data`. */
  flags?: string[];
  /** Settings of the server; what is undefined is unset. */
  env?: Record<string, string | undefined>;
}

export interface InProcessOptions extends ServerOptions {
  /** What no flag sets, agents above all. */
  config?: Partial<ServerConfig>;
}

export interface ProcessOptions extends ServerOptions {
  /** The command that starts it; `serve` unless said. */
  command?: "serve" | "dev";
  /** The whole command line after the command, instead of `--port 0`, `--data` and flags. */
  args?: string[];
  /** Where the process runs; where this one does otherwise. */
  cwd?: string;
  /** Another script that starts a server and prints its URL, instead of `bridle serve`. */
  script?: string;
}

export interface TestServer extends AsyncDisposable {
  pid: number;
  url: string;
  /** Where it speaks gRPC: nowhere unless it was started `withGrpc`. */
  grpcUrl(): string;
  /** Where the gateway has a port of its own: nowhere unless a flag says so. */
  harpUrl(): string;
  data: string;
  /** Everything it has written: its log, and in a process of its own all else. */
  output(): string;
  /** As Ctrl-C would. Gives the exit code. */
  stop(): Promise<number | null>;
}

export interface TestProcess extends TestServer {
  process: ChildProcess;
  /** At once, with no chance to clean up. */
  kill(): Promise<void>;
}

export async function temporaryDirectory(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "bridle-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** `bridle serve` in this process. */
export async function startServer(options: InProcessOptions = {}): Promise<TestServer> {
  const { data, flags = [], env = {}, config = {} } = options;
  const own = data === undefined ? await temporaryDirectory() : null;
  const directory = data ?? own?.path ?? "";
  const lines: string[] = [];
  const modules = new ProjectModules();
  const serving = await servingOf(
    ["--port", "0", "--data", directory, ...flags],
    { ...environment, ...(await databaseEnvironment(directory)), ...env },
    modules,
  );
  const logger = createLogger(serving.settings.logLevel, knownSecrets(serving), {
    write: (line) => lines.push(line.trimEnd()),
  });
  const server = await startInProcess({
    ...serverConfigOf(serving, logger),
    receiptsThread: false,
    ...config,
  });
  const forget = rememberServer(`the server at ${server.url}`, () => lines);
  let stopped: Promise<unknown> | null = null;
  const stop = async (graceMs: number) => {
    stopped ??= server.stop(graceMs);
    await stopped;
    modules.close();
    forget();
  };
  return {
    pid: process.pid,
    url: server.url,
    grpcUrl: () => server.grpcUrl ?? "off",
    harpUrl: () => server.harpUrl ?? "",
    data: directory,
    output: () => lines.join("\n"),
    async stop() {
      await stop(serving.settings.graceMs);
      return 0;
    },
    async [Symbol.asyncDispose]() {
      await stop(0);
      await own?.[Symbol.asyncDispose]();
    },
  };
}

/** The settings as the command reads them; of a project there are the agents that a flag names. */
async function servingOf(
  flags: string[],
  env: Record<string, string | undefined>,
  modules: ProjectModules,
): Promise<Serving> {
  const [settings, secrets] = settingsOf(flags, env);
  const place = { directory: process.cwd(), agents: settings.agents, settingNames };
  return { settings, secrets, project: await loadProject(place, modules) };
}

function settingsOf(flags: string[], env: Record<string, string | undefined>): [ServeSettings, ServeSecrets] {
  const command = new Command().exitOverride();
  for (const option of serveOptions) command.addOption(option);
  const real = process.env;
  process.env = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined));
  try {
    command.parse(flags, { from: "user" });
    const secrets = takeSecrets(process.env);
    return [command.opts<ServeSettings>(), secrets];
  } finally {
    process.env = real;
  }
}

/** A server in a process of its own, which can be killed. */
export async function startProcess(options: ProcessOptions = {}): Promise<TestProcess> {
  const own = options.data === undefined ? await temporaryDirectory() : null;
  const data = options.data ?? own?.path ?? "";
  const flags = options.args ?? ["--port", "0", "--data", data, ...(options.flags ?? [])];
  const args =
    options.script === undefined ? [main, options.command ?? "serve", ...flags] : [options.script, ...flags];
  const child = spawn(process.execPath, args, {
    env: { ...environment, ...(await databaseEnvironment(data)), ...options.env },
    cwd: options.cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  const forget = rememberServer(`the server with process ID ${child.pid}`, () => lines);
  child.once("exit", forget);
  // A process that neither starts nor ends must not be waited for, nor left behind.
  const patience = setTimeout(() => child.kill("SIGKILL"), startMsMax);
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const found = /^\s*URL\s+(http\S+)/.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
    }
    child.once("exit", (code, signal) =>
      reject(new Error(`The server ended with ${code ?? signal}:\n${lines.join("\n")}`)),
    );
  }).finally(() => clearTimeout(patience));
  const exited = once(child, "exit");
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal);
      await exited;
    }
  };
  return {
    pid: child.pid ?? 0,
    url,
    grpcUrl() {
      const line = lines.find((text) => /^\s*gRPC\s+/.test(text));
      return line?.trim().split(/\s+/)[1] ?? "";
    },
    harpUrl: () => /^\s*HARP\s.*(http:\/\/[^/\s]+)$/m.exec(lines.join("\n"))?.[1] ?? "",
    data,
    process: child,
    output: () => lines.join("\n"),
    kill: () => end("SIGKILL"),
    async stop() {
      await end("SIGINT");
      return child.exitCode;
    },
    async [Symbol.asyncDispose]() {
      await end("SIGKILL");
      await own?.[Symbol.asyncDispose]();
    },
  };
}

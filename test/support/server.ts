/** A real server process on a port of its own, and a data directory that lives as long as the test. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freshBundle } from "../../build/fresh.ts";
import { rememberServer } from "../runner/server-logs.ts";

/** The `bridle` command, bundled as it is published. */
export const main = join(await freshBundle(), "main.js");

/** Longer than any start takes, on a busy machine too. */
const startMsMax = 120_000;

export const adminKey = "test-admin-key";
export const environment = {
  PATH: process.env.PATH,
  // Hundreds of processes load the same code; what one compiled the others need not.
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../../node_modules/.cache/tests", import.meta.url)),
  // What imports `bridle` gets the bundle too.
  NODE_OPTIONS: "--conditions=bundled",
  BRIDLE_API_KEY: adminKey,
  BRIDLE_LOG_LEVEL: "warn",
  // Few tests speak gRPC, and a server that does has more to load.
  BRIDLE_GRPC_PORT: "off",
};

/** For a server that speaks gRPC too, on whatever port is free. */
export const withGrpc = { BRIDLE_GRPC_PORT: "0" };

export interface ServerOptions {
  /** Kept across restarts; a fresh one otherwise. */
  data?: string;
  /** Added to `--port 0` and `--data`. */
  flags?: string[];
  /** The command that starts it; `serve` unless said. */
  command?: "serve" | "dev";
  /** The whole command line after the command, instead of `--port 0`, `--data` and flags. */
  args?: string[];
  /** Where the process runs; where this one does otherwise. */
  cwd?: string;
  /** What is undefined is unset. */
  env?: Record<string, string | undefined>;
  /** Another script that starts a server and prints its URL, instead of `bridle serve`. */
  script?: string;
}

export interface TestServer extends AsyncDisposable {
  url: string;
  /** Where it speaks gRPC, as it says itself: nowhere unless it was started `withGrpc`. */
  grpcUrl(): string;
  data: string;
  process: ChildProcess;
  /** Everything it has written to standard output and standard error. */
  output(): string;
  /** At once, with no chance to clean up. */
  kill(): Promise<void>;
  /** As Ctrl-C would. Gives the exit code. */
  stop(): Promise<number | null>;
}

export async function temporaryDirectory(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "bridle-test-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const own = options.data === undefined ? await temporaryDirectory() : null;
  const data = options.data ?? own?.path ?? "";
  const flags = options.args ?? ["--port", "0", "--data", data, ...(options.flags ?? [])];
  const args =
    options.script === undefined ? [main, options.command ?? "serve", ...flags] : [options.script, ...flags];
  const child = spawn(process.execPath, args, {
    env: { ...environment, ...options.env },
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
    url,
    grpcUrl() {
      const line = lines.find((text) => /^\s*gRPC\s+/.test(text));
      return line?.trim().split(/\s+/)[1] ?? "";
    },
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

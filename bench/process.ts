/** Starts a server as a process of its own and waits until it prints where it listens. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface BenchProcess extends AsyncDisposable {
  pid: number;
  url: string;
  /** The gRPC address, for servers started with `waitFor: "gRPC"`. */
  grpcUrl: string;
  /** What a module that was loaded with `--import` answers, for servers started with `ipc`. */
  ask(): Promise<unknown>;
  /** Like Ctrl-C: the process ends after it has finished its work, such as writing a profile. */
  stop(): Promise<void>;
}

interface StartOptions {
  env?: Record<string, string>;
  /** The last address line to wait for. */
  waitFor?: "URL" | "gRPC";
  ipc?: boolean;
}

export async function startProcess(
  args: string[],
  { env = {}, waitFor = "URL", ipc = false }: StartOptions = {},
): Promise<BenchProcess> {
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit", ...(ipc ? (["ipc"] as const) : [])],
  });
  endWithThisProcess(child);
  if (child.stdout === null) throw new Error("The process has no output");
  const addresses: Record<string, string> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [, name, url] = /^\s*(URL|gRPC)\s+(http\S+)/.exec(line) ?? [];
    if (name !== undefined && url !== undefined) addresses[name] = url;
    if (name !== waitFor) continue;
    child.stdout.resume();
    const end = async (signal: NodeJS.Signals) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, "exit");
    };
    return {
      pid: child.pid ?? 0,
      url: addresses.URL ?? "",
      grpcUrl: addresses.gRPC ?? "",
      ask: async () => {
        child.send("");
        const [answer] = await once(child, "message");
        return answer;
      },
      stop: () => end("SIGINT"),
      [Symbol.asyncDispose]: () => end("SIGKILL"),
    };
  }
  throw new Error(`${args.join(" ")} ended without printing its ${waitFor}`);
}

/** Whatever ends the benchmark, no server stays behind. SIGINT, because some have a server of their own to stop. */
function endWithThisProcess(child: ChildProcess): void {
  const stop = () => child.kill("SIGINT");
  process.on("exit", stop);
  child.once("exit", () => process.off("exit", stop));
  for (const signal of ["SIGINT", "SIGTERM"]) {
    // Without a listener a signal ends the process before anything can be cleaned up.
    if (process.listenerCount(signal) === 0) process.on(signal, () => process.exit(1));
  }
}

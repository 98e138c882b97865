/** Starts a server as a process of its own and waits until it says where it listens. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface BenchProcess extends AsyncDisposable {
  url: string;
  /** As Ctrl-C would: it ends when it has finished what it does then, a profile among it. */
  stop(): Promise<void>;
}

export async function startProcess(args: string[], env: Record<string, string> = {}): Promise<BenchProcess> {
  const child: ChildProcess = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (child.stdout === null) throw new Error("The process has no output");
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^\s*URL\s+(http\S+)/.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout.resume();
    const end = async (signal: NodeJS.Signals) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      await once(child, "exit");
    };
    return {
      url,
      stop: () => end("SIGINT"),
      [Symbol.asyncDispose]: () => end("SIGKILL"),
    };
  }
  throw new Error(`${args.join(" ")} ended without saying where it listens`);
}

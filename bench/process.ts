/** Starts a server as a process of its own and waits until it says where it listens. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface BenchProcess extends AsyncDisposable {
  url: string;
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
    return {
      url,
      async [Symbol.asyncDispose]() {
        child.kill("SIGKILL");
        await once(child, "exit");
      },
    };
  }
  throw new Error(`${args.join(" ")} ended without saying where it listens`);
}

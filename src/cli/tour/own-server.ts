/** A server for the tour alone: a process on ports that were free, with its data in a folder of the tour. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tallyVariable } from "../../agents/tour.ts";
import { mainModule } from "../../package-files.ts";
import { readAdminKey } from "../../policy/admin-key.ts";
import { addressIn } from "../../server/server-address.ts";
import { Remote } from "../remote.ts";

/** A slow disk takes a while; longer than this it hangs. */
const startMsMax = 120_000;
/** It has nothing to do any more when it is told to stop. */
const stopMsMax = 5000;
/** The end of what it complained about, for when it does not start. */
const complaintCharsMax = 2000;

export interface OwnServer {
  pid: number;
  url: string;
  remote: Remote;
  /** With SIGKILL: it hears nothing of it. */
  kill(): Promise<void>;
  /** As Ctrl-C would, and for good when that takes too long. */
  stop(): Promise<void>;
}

export interface Place {
  /** Where the server runs, so that it finds no project. */
  directory: string;
  data: string;
  tally: string;
}

export async function startOwnServer(
  { directory, data, tally }: Place,
  signal: AbortSignal,
): Promise<OwnServer> {
  signal.throwIfAborted();
  const args = [
    fileURLToPath(mainModule),
    "serve",
    "--port",
    "0",
    "--grpc-port",
    "off",
    "--data",
    data,
    "--log-level",
    "error",
  ];
  const child = spawn(process.execPath, [...process.execArgv, ...args], {
    cwd: directory,
    env: { ...withoutSettings(process.env), [tallyVariable]: tally },
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C is for the tour to hear, which then stops the server.
    detached: true,
  });
  const killNow = () => void child.kill("SIGKILL");
  // Whatever becomes of the tour, the server does not outlive it.
  process.once("exit", killNow);
  const exited = once(child, "exit").finally(() => process.off("exit", killNow));
  const end = async (how: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(how);
    await exited;
  };
  try {
    await ready(child, AbortSignal.any([signal, AbortSignal.timeout(startMsMax)]));
    const url = addressIn(data);
    if (url === null || child.pid === undefined)
      throw new Error("The server printed no URL when it was ready.");
    const key = readAdminKey(join(data, "admin.key"));
    return {
      pid: child.pid,
      url,
      remote: new Remote({ url, ...(key === null ? {} : { key }), data }),
      kill: () => end("SIGKILL"),
      async stop() {
        const impatience = setTimeout(killNow, stopMsMax);
        await end("SIGINT").finally(() => clearTimeout(impatience));
      },
    };
  } catch (error) {
    await end("SIGKILL");
    throw error;
  }
}

/** What somebody set for servers of theirs is not meant for this one. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("BRIDLE_")));
}

/** Its greeting is the first that it writes, once it listens. */
async function ready(child: ChildProcess, signal: AbortSignal): Promise<void> {
  const { stdout, stderr } = child;
  let complaint = "";
  stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint = (complaint + text).slice(-complaintCharsMax);
  });
  const ended = once(child, "exit", { signal }).then(([code, killedBy]) => {
    throw new Error(`The server of the tour ended with ${code ?? killedBy}: ${complaint.trim()}`);
  });
  const greeted = stdout === null ? ended : once(stdout, "data", { signal });
  await Promise.race([greeted, ended]);
  // Lost interest in either is no failure.
  ended.catch(() => {});
  stdout?.resume();
}

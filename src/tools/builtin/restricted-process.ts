/**
 * A program in a process of its own, with as little as can be had without native code: no shell that reads its arguments, no
 * input, a small environment and an empty home, bounded output, and an end that everything it started shares.
 *
 *   unshare …  (with namespaces)  its own users, processes and, unless it may have one, network
 *   sh -c …                       sets limits, says that it began, runs the program, gives on its exit code
 *   the program
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

export interface Confinement {
  /**
   * `namespaces` (Linux): the program sees no other process, gains no privileges, and when it ends all that it started ends.
   * `process`: a process group, which a program can leave.
   */
  isolation: "namespaces" | "process";
  network: boolean;
  /** Directories where programs find others. */
  path: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Of each stream; the rest is read and thrown away. */
  outputBytesMax: number;
  /** Of one file that it writes. */
  fileBytesMax: number;
  /** Of address space, of each process. */
  memoryBytesMax: number | null;
  /** Of each process: what is left to stop it should nobody be there to do so. */
  cpuSecondsMax: number;
}

export interface Ended {
  exit_code: number;
  stdout: string;
  stdout_truncated: boolean;
  stderr: string;
  stderr_truncated: boolean;
}

/** The program was not run: the system could not restrict it as it should be. */
export class CommandRefused extends Error {
  override name = "CommandRefused";
  readonly code = "command_refused";
}

/** How long streams may stay open that somebody holds who left the process group. */
const lingerMs = 1_000;

/** Throws the signal's reason once everything is dead. */
export async function runRestricted(
  [program, ...args]: readonly [program: string, ...args: string[]],
  cwd: string,
  confinement: Confinement,
  signal: AbortSignal,
): Promise<Ended> {
  signal.throwIfAborted();
  const home = await mkdtemp(join(tmpdir(), "bridle-command-"));
  try {
    const [command, ...rest] = [...wrapperOf(confinement), program, ...args];
    const child = spawn(command, rest, {
      cwd,
      env: environment(home, confinement),
      // Nothing to read; the fourth is where the wrapper says that it comes to the program.
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // The leader of a group, so that all of it can be ended.
      detached: true,
    });
    return await watch(child, confinement, signal);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function wrapperOf(confinement: Confinement): [string, ...string[]] {
  const { isolation, network, fileBytesMax, memoryBytesMax, cpuSecondsMax } = confinement;
  const limits = [
    "ulimit -c 0",
    `ulimit -f ${Math.ceil(fileBytesMax / 512)}`,
    `ulimit -t ${cpuSecondsMax}`,
    ...(memoryBytesMax === null ? [] : [`ulimit -v ${Math.ceil(memoryBytesMax / 1024)}`]),
  ];
  // The shell stays: as the first of its processes it is the one that the others end with. Its words are all ours.
  const script = `${limits.join(" && ")} || exit 125; echo >&3; exec 3>&-; "$@"; exit $?`;
  const shell: [string, ...string[]] = ["/bin/sh", "-c", script, "sh"];
  if (isolation === "process") return shell;
  const own = ["--map-current-user", "--pid", "--fork", "--kill-child", ...(network ? [] : ["--net"])];
  return ["/usr/bin/unshare", ...own, "--", ...shell];
}

function environment(home: string, { path, env }: Confinement): Record<string, string> {
  return { PATH: path.join(":"), HOME: home, TMPDIR: home, LANG: "C.UTF-8", ...env };
}

async function watch(
  child: ChildProcess,
  { outputBytesMax }: Confinement,
  signal: AbortSignal,
): Promise<Ended> {
  let isAborted = false;
  const onAbort = () => {
    // What had ended by itself has a result, though nobody may be left to want it.
    isAborted = child.exitCode === null && child.signalCode === null;
    killGroup(child);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const stdout = new Collected(child.stdout, outputBytesMax);
    const stderr = new Collected(child.stderr, outputBytesMax);
    const begun = new Collected(readableOf(child.stdio[3]), 1);
    const code = await exitOf(child);
    if (isAborted) throw signal.reason;
    if (begun.isEmpty) throw refusal(stderr.text);
    return {
      exit_code: code,
      stdout: stdout.text,
      stdout_truncated: stdout.isTruncated,
      stderr: stderr.text,
      stderr_truncated: stderr.isTruncated,
    };
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Once the program has ended, nothing of it goes on. */
async function exitOf(child: ChildProcess): Promise<number> {
  const closed = once(child, "close").catch(() => {});
  try {
    const [code]: (number | null)[] = await once(child, "exit");
    killGroup(child);
    await Promise.race([closed, delay(lingerMs, undefined, { ref: false })]);
    for (const stream of child.stdio) stream?.destroy();
    // Without a code it was killed, as a whole: the shell would have given on the code of the program.
    return code ?? 137;
  } catch (error) {
    throw error instanceof Error && "code" in error ? refusal(String(error.code)) : error;
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}

function refusal(why: string): CommandRefused {
  const [line = ""] = why.trim().split("\n");
  return new CommandRefused(
    `The program was not run, because it cannot be restricted here as the operator wants (${line.slice(0, 200)}).`,
  );
}

function readableOf(stream: ChildProcess["stdio"][3]): Readable | null {
  return stream !== undefined && stream !== null && "read" in stream ? stream : null;
}

/** The beginning of what a stream says. */
class Collected {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  isTruncated = false;

  constructor(stream: Readable | null, bytesMax: number) {
    stream?.on("error", () => {});
    stream?.on("data", (chunk: Buffer) => {
      const room = bytesMax - this.#bytes;
      if (chunk.length > room) this.isTruncated = true;
      if (room > 0) this.#chunks.push(chunk.subarray(0, room));
      this.#bytes += Math.min(chunk.length, room);
    });
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get text(): string {
    return new TextDecoder().decode(Buffer.concat(this.#chunks), { stream: this.isTruncated });
  }
}

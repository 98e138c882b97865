/**
 * A program in a process of its own, with as little as can be had without native code: no shell that reads its arguments, no
 * input, a small environment and an empty home, bounded output, and an end that everything it started shares.
 *
 *   unshare …   (with namespaces)  its own users, processes, mounts and, unless it may have one, network
 *   sh -c …                        hides directories, sets limits, runs the program, gives on its exit code
 *   setpriv …   (with namespaces)  gives up what was needed for that
 *   the program
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { LocatedDirectory } from "../../files/workspace-files.ts";

export interface Confinement {
  /**
   * `namespaces` (Linux): the program reaches no other process and nothing that is hidden, gains no privileges, and when it
   * ends all that it started ends. `process`: a process group, which a program can leave.
   */
  isolation: "namespaces" | "process";
  /** With namespaces: directories that are empty for it, beside the server's own data. */
  hidden: readonly string[];
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
  argv: readonly [program: string, ...args: string[]],
  located: LocatedDirectory,
  confinement: Confinement,
  signal: AbortSignal,
): Promise<Ended> {
  signal.throwIfAborted();
  const own = await mkdtemp(join(tmpdir(), "bridle-command-"));
  const [home, aside] = [join(own, "home"), join(own, "aside")];
  try {
    for (const directory of [home, aside]) await mkdir(directory, { mode: 0o700 });
    const [command, ...args] = wrapped(argv, located, aside, confinement);
    const child = spawn(command, args, {
      cwd: located.directory,
      env: environment(home, confinement),
      // Nothing to read; the fourth is where the wrapper says that it comes to the program.
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // The leader of a group, so that all of it can be ended.
      detached: true,
    });
    return await watch(child, confinement, signal);
  } finally {
    // A program can leave folders that only somebody with more rights removes; its result is not worse for that.
    await rm(own, { recursive: true, force: true }).catch(() => {});
  }
}

// The scripts' words are all ours; what others chose comes as arguments, which the shell does not read as words.
// The shell stays while the program runs: as the first of its processes it is the one that the others end with.
const start = 'echo >&3; exec 3>&-; "$@"; exit $?';
const setpriv = "/usr/bin/setpriv";
/** The workspace may be inside of what is hidden: it is held aside meanwhile. */
const hide = `
  aside=$1 root=$2 cwd=$3; shift 3
  /usr/bin/mount --rbind "$root" "$aside" || exit 125
  while [ "$1" != -- ]; do /usr/bin/mount -t tmpfs -o size=64k,mode=755 tmpfs "$1" || exit 125; shift; done; shift
  /usr/bin/mkdir -p "$root" && /usr/bin/mount --rbind "$aside" "$root" && /usr/bin/umount -l "$aside" &&
  cd "$cwd" && [ -x ${setpriv} ] || exit 125
`;
/** The mounts cannot be undone without these, nor by making namespaces inside of the namespaces. */
const powerless = [
  setpriv,
  ..."--inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs --".split(" "),
];

function wrapped(
  argv: readonly string[],
  { root, directory, guarded }: LocatedDirectory,
  aside: string,
  confinement: Confinement,
): [string, ...string[]] {
  const limit = `${limits(confinement).join(" && ")} || exit 125;`;
  if (confinement.isolation === "process") return ["/bin/sh", "-c", limit + start, "sh", ...argv];
  const own = "--map-current-user --mount --keep-caps --pid --fork --kill-child".split(" ");
  if (!confinement.network) own.push("--net");
  const hidden = guarded === null ? confinement.hidden : [guarded, ...confinement.hidden];
  const shell = ["/bin/sh", "-c", hide + limit + start, "sh", aside, root, directory, ...hidden, "--"];
  return ["/usr/bin/unshare", ...own, "--", ...shell, ...powerless, ...argv];
}

function limits({ fileBytesMax, memoryBytesMax, cpuSecondsMax }: Confinement): string[] {
  const memory = memoryBytesMax === null ? [] : [`ulimit -v ${Math.ceil(memoryBytesMax / 1024)}`];
  return [
    "ulimit -c 0",
    `ulimit -f ${Math.ceil(fileBytesMax / 512)}`,
    `ulimit -t ${cpuSecondsMax}`,
    ...memory,
  ];
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
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(this.#chunks), {
      stream: this.isTruncated,
    });
  }
}

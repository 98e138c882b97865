/** The `bridle` command as a person or a script calls it, with what it wrote and how it ended. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../src/cli/program.ts";
import { environment, main } from "./server.ts";

/** Longer than any command here takes, on a busy machine too; one that is still there then hangs. */
const patienceMs = 120_000;

export interface Ended {
  /** Null for a command that had to be killed because it did not end. */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  /** What is undefined is unset. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** What is on its standard input; nothing otherwise. */
  input?: string;
  /** It was asked for the places where an agent's code failed. */
  showsStacks?: true;
}

/** Runs Node.js with a script to its end. */
export function runNode(args: string[], options: RunOptions = {}): Promise<Ended> {
  return run(process.execPath, args, options);
}

/** Runs a command to its end. */
export async function run(
  command: string,
  args: string[],
  { env = {}, cwd, input }: RunOptions = {},
): Promise<Ended> {
  const child = spawn(command, args, {
    env: { ...environment, ...env },
    cwd,
    stdio: ["pipe", "pipe", "pipe"],
    timeout: patienceMs,
    killSignal: "SIGKILL",
  });
  // A command that reads nothing may be gone before all of it is written.
  child.stdin.on("error", () => {}).end(input ?? "");
  const [stdout, stderr] = await Promise.all([
    child.stdout.setEncoding("utf8").toArray(),
    child.stderr.setEncoding("utf8").toArray(),
    once(child, "exit"),
  ]);
  return { code: child.exitCode, stdout: stdout.join(""), stderr: stderr.join("") };
}

/** Runs `bridle`; with a server, against that one. */
export async function bridle(
  args: string[],
  options: RunOptions & { server?: { url: string } } = {},
): Promise<Ended> {
  const { server, env = {} } = options;
  const url = server === undefined ? {} : { BRIDLE_URL: server.url };
  const all = { ...url, ...env };
  const ended = needsProcess(args)
    ? await runNode([main, ...args], { ...options, env: all })
    : await inTurn(() => runHere(args, { ...options, env: all }));
  if (options.showsStacks !== true) assertNoStack(ended);
  return { ...ended, stderr: withoutProgress(ended.stderr) };
}

/** They end the process themselves, live until a signal, or load a project, whose files are loaded once in a process. */
const ownProcess = new Set(["acp", "config", "dev", "doctor", "gateway", "init", "serve", "shell", "tour"]);
const tried = new Set<string>();

/** Each command runs once as a process, which shows that nothing keeps it from ending; after that here, at a tenth of the cost. */
function needsProcess([command = "", subcommand = ""]: string[]): boolean {
  const name = `${command} ${/^[a-z]+$/.test(subcommand) ? subcommand : ""}`;
  if (ownProcess.has(command) || !tried.has(name)) {
    tried.add(name);
    return true;
  }
  return false;
}

/** There is one standard output in this process, one environment and one working directory: one command at a time. */
let running: Promise<unknown> = Promise.resolve();

function inTurn(command: () => Promise<Ended>): Promise<Ended> {
  const ended = running.then(command);
  running = ended.catch(() => {});
  return ended;
}

async function runHere(
  args: string[],
  { env = {}, cwd = process.cwd(), input = "" }: RunOptions,
): Promise<Ended> {
  const texts = { stdout: "", stderr: "" };
  const real = {
    argv: process.argv,
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    exitCode: process.exitCode,
    stdout: process.stdout.write,
    stderr: process.stderr.write,
  };
  const given = Object.entries({ ...environment, ...env }).filter(([, value]) => value !== undefined);
  process.argv = [process.execPath, main, ...args];
  process.env = Object.fromEntries(given);
  process.chdir(cwd);
  setStdin(Readable.from([Buffer.from(input)]));
  // A test that failed before in this process has set it.
  process.exitCode = undefined;
  for (const name of ["stdout", "stderr"] as const) {
    process[name].write = (text: string | Uint8Array, ...rest: unknown[]) => {
      texts[name] += typeof text === "string" ? text : Buffer.from(text).toString();
      const done = rest.at(-1);
      if (typeof done === "function") queueMicrotask(() => done());
      return true;
    };
  }
  try {
    await runProgram();
    return { code: Number(process.exitCode ?? 0), ...texts };
  } finally {
    process.exitCode = real.exitCode;
    process.argv = real.argv;
    process.env = real.env;
    process.chdir(real.cwd);
    setStdin(real.stdin);
    process.stdout.write = real.stdout;
    process.stderr.write = real.stderr;
  }
}

function setStdin(value: Readable): void {
  Object.defineProperty(process, "stdin", { value, configurable: true });
}

/** What takes more than a second says how far it is; whether it does is up to the machine. */
function withoutProgress(stderr: string): string {
  return stderr.replaceAll(/^[a-z ]+: \d+(?: of \d+)?\n/gim, "");
}

/** Nobody who uses a command has to read where in our code it went wrong. */
export function assertNoStack({ stdout, stderr }: Ended): void {
  assert.doesNotMatch(stdout + stderr, /^\s+at .+:\d+:\d+|node:internal|Unhandled|Node\.js v/m);
}

/** What a command wrote that did what it was asked for. */
export function succeeded(ended: Ended): string {
  assert.equal(ended.code, 0, ended.stdout + ended.stderr);
  return ended.stdout;
}

/** Failed, called in a wrong way, no server there, not allowed. */
type ErrorExit = 1 | 2 | 3 | 4;

/** The one line of an error: on standard error, with this exit code, and nothing on standard output. */
export function errorLine(ended: Ended, code: ErrorExit): string {
  const [line, ...hints] = errorLines(ended, code);
  assert.deepEqual(hints, [], "exactly one line");
  return line;
}

/** The same for an error with hints, which are lines of their own and indented. */
export function errorLines({ code, stdout, stderr }: Ended, expected: ErrorExit): [string, ...string[]] {
  assert.equal(code, expected, stdout + stderr);
  assert.equal(stdout, "");
  const [line = "", ...hints] = stderr.trimEnd().split("\n");
  assert.match(line, expected === 2 ? /^error: \S.{9,}/ : /^bridle: \S.{9,}/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a file holds must not drive the terminal
  assert.doesNotMatch(stderr, /[\x00-\x09\x0b-\x1f\x7f]/);
  for (const hint of hints) assert.match(hint, /^ {2}\S/);
  return [line, ...hints];
}

export function fixtureAgents(name: string): string {
  return fileURLToPath(new URL(`./fixture-agents/${name}`, import.meta.url));
}

/** `bridle gate run`: asks, waits, and runs exactly what was approved, once. */

import { spawn } from "node:child_process";
import { createHash, type Hash, randomUUID } from "node:crypto";
import { homedir } from "node:os";
import type { Readable, Writable } from "node:stream";
import type { GateEnd } from "../../agents/gate.ts";
import { decideGate } from "../../gate/decide.ts";
import { loadPolicy } from "../../gate/policy-files.ts";
import { bindCommand, type CommandRequest, environmentOf, whatChanged } from "../../gate/request.ts";
import type { Remote } from "../remote.ts";
import { oneLine } from "../terminal/text.ts";
import { type AskSettings, commandText, endings, inputFor, sayAsked, stopSignal } from "./asking.ts";
import { type Approved, type Asking, answerOnceAsked, decide } from "./decision.ts";
import { Denied, denialOf } from "./denial.ts";
import { gateRemote } from "./gate-remote.ts";
import { forgetRunning, type RunningEntry, settleDead, writeRunning } from "./journal.ts";
import { withStanding } from "./standing.ts";

export interface RunSettings extends AskSettings {
  env?: string[];
  file?: string[];
  tty?: true;
}

export async function run(argv: readonly string[], settings: RunSettings): Promise<void> {
  using stop = stopSignal();
  try {
    process.exitCode = await runApproved(argv, settings, stop.signal);
  } catch (error) {
    const { message, exitCode } =
      stop.signal.aborted && !(error instanceof Denied) ? stopped : denialOf(error);
    process.stderr.write(`bridle gate: not run. ${message}\n`);
    process.exitCode = exitCode;
  }
}

const stopped = { message: "It was stopped before anybody decided.", exitCode: 130 };

async function runApproved(
  argv: readonly string[],
  settings: RunSettings,
  signal: AbortSignal,
): Promise<number> {
  const cwd = process.cwd();
  const { env = [], file: files = [] } = settings;
  const request = bindCommand(argv, { cwd, env, files, surroundings: process.env });
  const { policy } = loadPolicy(cwd, settings.policy);
  const subject = {
    tool: "gate",
    kind: "shell",
    argv,
    ...(settings.risk === undefined ? {} : { risk: settings.risk }),
  };
  const verdict = decideGate(policy, subject, { cwd: request.cwd, home: homedir() });
  const remote = gateRemote(settings);
  await settleDead(remote);
  const action = `run ${commandText(argv)}`;
  const asked = inputFor(action, verdict, request, { runs: true, wait: settings.wait });
  // A standing permission is for words. Whoever binds more has all of it signed.
  const hasMore = env.length > 0 || files.length > 0;
  const input = hasMore ? asked : await withStanding(remote, asked, { subject, cwd: request.cwd });
  const entry = { url: remote.url, action };
  const { taskId } = await decideNoted({ remote, input, signal, onAsked: sayAsked(action) }, entry);
  return await runOnce(remote, { ...entry, taskId }, request, settings);
}

/** Noted from the beginning: one that is killed while it waits is not waited for. */
async function decideNoted(asking: Asking, entry: { url: string; action: string }): Promise<Approved> {
  let asked: string | null = null;
  const onSubmitted = (taskId: string) => {
    asked = taskId;
    writeRunning({ ...entry, taskId });
  };
  try {
    return await decide({ ...asking, onSubmitted });
  } catch (error) {
    if (asked !== null) forgetRunning(asked);
    throw error;
  }
}

const recordedMsMax = 5_000;

/** The server takes the answer to "it starts" once: whoever has given it runs it, and nobody else ever does. */
async function runOnce(
  remote: Remote,
  entry: RunningEntry,
  request: CommandRequest,
  { tty }: RunSettings,
): Promise<number> {
  const { tasks } = remote.client;
  const { taskId } = entry;
  const start = randomUUID();
  const changed = whatChanged(request);
  if (changed !== null) {
    await tasks.answer(taskId, { start, refused: changed });
    forgetRunning(taskId);
    throw new Denied(`${changed}. Ask again: what was approved is not there any more.`);
  }
  const env = environmentOf(request, process.env);
  await tasks.answer(taskId, { start }, { idempotencyKey: start });
  const end = await execute(request, env, tty === true);
  writeRunning({ ...entry, end });
  try {
    await answerOnceAsked(remote, taskId, "exit_code", end);
    forgetRunning(taskId);
    // Whoever looks at the log next finds it there.
    await tasks.wait(taskId, { timeoutMs: recordedMsMax }).catch(() => null);
  } catch {
    // It is kept, and the next gate delivers it.
    process.stderr.write(`bridle gate: the outcome could not be sent yet (task ${taskId}).\n`);
  }
  return end.exit_code ?? 128;
}

async function execute(
  { argv, cwd, program }: CommandRequest,
  env: NodeJS.ProcessEnv,
  isTty: boolean,
): Promise<GateEnd> {
  const [argv0 = "", ...args] = argv;
  const output = isTty ? "inherit" : "pipe";
  const child = spawn(program.path, args, { cwd, env, argv0, stdio: ["inherit", output, output] });
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of endings) process.on(signal, forward);
  const [stdout, stderr] = [hashing(child.stdout, process.stdout), hashing(child.stderr, process.stderr)];
  return await new Promise((resolve) => {
    const ended = (exit_code: number | null, signal: string | null) => {
      for (const ending of endings) process.off(ending, forward);
      resolve({
        exit_code,
        signal,
        stdout_sha256: stdout?.digest("hex") ?? null,
        stderr_sha256: stderr?.digest("hex") ?? null,
        ended_at: new Date().toISOString(),
      });
    };
    child.once("error", (error) => {
      process.stderr.write(`bridle gate: ${oneLine(error.message)}\n`);
      ended(127, null);
    });
    child.once("close", ended);
  });
}

function hashing(from: Readable | null, to: Writable): Hash | null {
  if (from === null) return null;
  const hash = createHash("sha256");
  from.on("data", (chunk: Buffer) => hash.update(chunk));
  from.pipe(to, { end: false });
  return hash;
}

/**
 * What this machine's gates wait for and run. A gate writes it down when it asks and takes it out when it has said how it
 * ended; one that died leaves it, and the next gate tells the server, and the person, how far it got.
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { isRecord } from "../../sdk/client/errors.ts";
import { isFinal } from "../../sdk/client/index.ts";
import { isRefusal, type Remote } from "../remote.ts";
import { oneLine } from "../terminal/text.ts";
import { asksFor } from "./decision.ts";

export interface RunningEntry {
  taskId: string;
  url: string;
  action: string;
  /** Once it has ended, until the server has it. */
  end?: object;
}

interface Entry extends RunningEntry {
  pid: number;
}

const deadEntriesMax = 100;
/** The agent may be between two questions. */
const settledMsMax = 5_000;

function directory(): string {
  const { XDG_STATE_HOME: state = "" } = process.env;
  return join(isAbsolute(state) ? state : join(homedir(), ".local", "state"), "bridle", "gate");
}

const fileOf = (taskId: string) => join(directory(), `${taskId.replaceAll(/[^\w.-]/g, "_")}.json`);

export function writeRunning(entry: RunningEntry): void {
  mkdirSync(directory(), { recursive: true, mode: 0o700 });
  writeFileSync(fileOf(entry.taskId), JSON.stringify({ ...entry, pid: process.pid }), { mode: 0o600 });
}

export function forgetRunning(taskId: string): void {
  rmSync(fileOf(taskId), { force: true });
}

/** Of gates that died: tells the server what is known, and the person. */
export async function settleDead(remote: Remote): Promise<void> {
  for (const entry of deadEntries(remote.url)) {
    try {
      const said = await settle(remote, entry);
      if (said !== null) process.stderr.write(`bridle gate: ${oneLine(said)}\n`);
      forgetRunning(entry.taskId);
    } catch (error) {
      // The server may be away, and this is not what it was asked for.
      if (isRefusal(error)) forgetRunning(entry.taskId);
    }
  }
}

async function settle(remote: Remote, { taskId, action, end }: Entry): Promise<string | null> {
  const { tasks } = remote.client;
  const task = await tasks.wait(taskId, { timeoutMs: settledMsMax });
  if (isFinal(task)) return null;
  if (end !== undefined) {
    await tasks.answer(taskId, end);
    return null;
  }
  if (task.status !== "INPUT_REQUIRED") {
    await tasks.cancel(taskId, { reason: "the gate that asked ended" });
    return `${action} was never approved: an earlier gate ended before (task ${taskId}). The request is withdrawn.`;
  }
  if (asksFor(task.waiting_for?.schema, "start")) {
    await tasks.answer(taskId, { start: "none", refused: "The gate ended before it started." });
    return `${action} was approved and never started: an earlier gate ended before (task ${taskId}).`;
  }
  const unknown = { exit_code: null, signal: null, stdout_sha256: null, stderr_sha256: null, ended_at: null };
  await tasks.answer(taskId, unknown);
  return `${action} was started, and nobody knows how it ended: an earlier gate was killed (task ${taskId}). It is not run again.`;
}

function deadEntries(url: string): Entry[] {
  let names: string[];
  try {
    names = readdirSync(directory());
  } catch {
    return [];
  }
  return names.slice(0, deadEntriesMax).flatMap((name) => {
    const entry = read(join(directory(), name));
    return entry !== null && entry.url === url && !isAlive(entry.pid) ? [entry] : [];
  });
}

function read(file: string): Entry | null {
  try {
    const found: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isRecord(found)) return null;
    const { taskId, url, pid, action, end } = found;
    if (typeof taskId !== "string" || typeof url !== "string" || typeof pid !== "number") return null;
    const known = { taskId, url, pid, action: typeof action === "string" ? action : "a command" };
    return isRecord(end) ? { ...known, end } : known;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** `bridle gate log`: what gates decided, newest first, and what came of it. */

import { isRecord } from "../../sdk/client/errors.ts";
import { isFinal, type Task } from "../../sdk/client/index.ts";
import type { Remote, RemoteSettings } from "../remote.ts";
import { table } from "../terminal/table.ts";
import { escapedJson } from "../terminal/text.ts";
import { asksFor, outputOf } from "./decision.ts";
import { gateRemote } from "./gate-remote.ts";
import { settleDead } from "./journal.ts";

export interface LogSettings extends RemoteSettings {
  limit: number;
  json?: true;
}

export interface GateRecord {
  task_id: string;
  at: string;
  action: string;
  verdict: string;
  by: string | null;
  rule: string | null;
  run: Record<string, unknown> | null;
  receipt_id: string | null;
  /** Of a standing permission. */
  uses: number | null;
}

export async function log(settings: LogSettings): Promise<void> {
  const remote = gateRemote(settings);
  await settleDead(remote);
  const { items } = await remote.client.tasks.list({ agent: "gate", limit: settings.limit });
  const records = await Promise.all(items.map((task) => recordOf(remote, task)));
  if (settings.json === true) {
    for (const record of records) process.stdout.write(`${escapedJson(record)}\n`);
    return;
  }
  if (records.length === 0) process.stdout.write("No gate has decided anything yet.\n");
  else process.stdout.write(table(["when", "verdict", "came to", "task", "action"], records.map(rowOf)));
}

export async function recordOf(remote: Remote, task: Task): Promise<GateRecord> {
  const input = inputOf(task);
  const output = isFinal(task) ? await outputOf(remote, task) : {};
  const { verdict, by, run, uses } = output;
  return {
    task_id: task.id,
    at: task.created_at,
    action: typeof input.action === "string" ? input.action : "",
    verdict: typeof verdict === "string" ? verdict : openVerdict(task),
    by: typeof by === "string" ? by : null,
    rule: typeof input.rule === "string" ? input.rule : null,
    run: isRecord(run) ? run : null,
    receipt_id: task.receipt_id,
    uses: Array.isArray(uses) ? uses.length : null,
  };
}

export function inputOf({ input }: Task): Record<string, unknown> {
  return isRecord(input) ? input : {};
}

function openVerdict({ status, waiting_for }: Task): string {
  if (status === "AUTH_REQUIRED") return "waits";
  if (status === "CANCELED") return "withdrawn";
  if (status === "FAILED") return "failed";
  if (status !== "INPUT_REQUIRED") return "waits";
  return asksFor(waiting_for?.schema, "exit_code") ? "running" : "approved";
}

function rowOf({ task_id, at, verdict, by, run, uses, action }: GateRecord): string[] {
  const who = by === null ? verdict : `${verdict} by ${by}`;
  return [
    at.slice(0, 19).replace("T", " "),
    who,
    uses === null ? runText(run) : `${uses} uses`,
    task_id,
    action,
  ];
}

function runText(run: Record<string, unknown> | null): string {
  if (run === null) return "";
  const { state, exit_code, signal } = run;
  if (state !== "ended") return String(state).replace("_", " ");
  return typeof exit_code === "number" ? `exit ${exit_code}` : String(signal);
}

/** The tasks of a server in a table. */

import type { Task } from "../../sdk/client/index.ts";
import { ageText } from "../terminal/duration.ts";
import { table } from "../terminal/table.ts";
import type { Limits } from "./command.ts";
import { partText } from "./facts.ts";

/** As many as were asked for, and whether there are more. */
export async function taken<T>(
  items: AsyncIterable<T>,
  { limit, all }: Partial<Limits>,
): Promise<{ items: T[]; isMore: boolean }> {
  const found: T[] = [];
  for await (const item of items) {
    if (all !== true && found.length === limit) return { items: found, isMore: true };
    found.push(item);
  }
  return { items: found, isMore: false };
}

export const moreHint = "There are more: --limit N shows N of them, --all every one.\n";

export function taskTable(tasks: readonly Task[], now: number): string {
  const rows = tasks.map((task) => [
    task.id,
    task.status,
    task.assigned_agent_id ?? task.persona_id ?? "",
    ageText(now - Date.parse(task.created_at)),
    taskLine(task),
  ]);
  return table(["TASK", "STATUS", "AGENT", "AGE", "WHAT"], rows);
}

/** What it waits for or why it failed, and otherwise what it was told. */
function taskLine(task: Task): string {
  const { failure, waiting_for } = task;
  if (waiting_for !== null) return `waits: ${waiting_for.description}`;
  return failure === null ? inputText(task) : `${failure.code}: ${failure.message}`;
}

/** What it was told to do: a message, or the fields of an object. */
export function inputText({ input }: Task): string {
  const { parts } = input;
  return Array.isArray(parts) ? parts.map(partText).join("\n") : JSON.stringify(input);
}

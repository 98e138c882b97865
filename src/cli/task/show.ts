/** One task in words: what it was told, how far it is, what it said, what helps. */

import type { BridleClient, BridleEvent, Task } from "../../sdk/client/index.ts";
import { isFinal } from "../../sdk/client/index.ts";
import type { Remote } from "../remote.ts";
import { durationText, momentText } from "../terminal/duration.ts";
import { styleFor } from "../terminal/style.ts";
import { facts } from "../terminal/table.ts";
import { oneLine, quoted } from "../terminal/text.ts";
import { answerForm } from "./answer.ts";
import { factIn } from "./facts.ts";
import { inputText } from "./list.ts";
import { storyLines } from "./view-lines.ts";
import { unseen, withFact } from "./view-state.ts";

/** Of lines that go to a file or a pipe. */
const storyColumns = 160;

export function taskText(task: Task, now: number): string {
  const { id, status, assigned_agent_id, persona_id, session_id, failure, waiting_for, receipt_id } = task;
  const end = task.completed_at ?? task.canceled_at ?? (isFinal(task) ? task.updated_at : null);
  const took = durationText((end === null ? now : Date.parse(end)) - Date.parse(task.created_at));
  const rows: [string, string | null][] = [
    ["Task", id],
    ["Status", status],
    ["Agent", assigned_agent_id],
    ["Persona", persona_id],
    ["Session", session_id],
    ["Submitted", `${momentText(task.created_at)} by ${task.created_by}`],
    [end === null ? "So far" : "Took", took],
    ["Failure", failure && `${failure.code}: ${failure.message}`],
    ["Waits for", waiting_for && `${waiting_for.kind}: ${waiting_for.description}`],
    ["Until", waiting_for?.until ? momentText(waiting_for.until) : null],
    ["Receipt", receipt_id],
  ];
  return `${facts(rows)}${quoted(inputText(task))}${helpOf(task)}`;
}

/** The command that helps a task which waits for a person; nothing where none does. */
export function helpOf({ id, waiting_for }: Pick<Task, "id" | "waiting_for">): string {
  if (waiting_for?.kind === "input") {
    return `Answer with: bridle task answer ${oneLine(id)} ${answerForm(waiting_for.schema)}\n`;
  }
  if (waiting_for?.kind !== "approval") return "";
  return waiting_for.signature_required === true
    ? "Only a signature of a paired approver counts: bridle approver watch\n"
    : `Decide with: bridle approve ${oneLine(waiting_for.permission_request_id ?? id)} (or bridle deny)\n`;
}

/** What the agent has said in a task that has ended, one text after the other. */
export async function saidIn({ tasks }: BridleClient, taskId: string): Promise<string[]> {
  const said: string[] = [];
  for await (const event of tasks.events(taskId)) {
    const fact = factIn(event);
    if (fact?.kind === "said" && fact.by === "agent") said.push(fact.text);
  }
  return said;
}

/** The steps of the task and what was said, a line for each; of many the last. */
export async function storyText(remote: Remote, id: string): Promise<string> {
  let state = unseen(id);
  for await (const event of remote.items<BridleEvent>(`/v1/tasks/${encodeURIComponent(id)}/events`)) {
    const fact = factIn(event);
    if (fact !== null) state = withFact(state, fact);
  }
  const style = styleFor({ isTerminal: process.stdout.isTTY === true, env: process.env });
  const columns = process.stdout.columns || storyColumns;
  const lines = storyLines(state, { columns, now: Date.now(), style });
  return lines.length === 0 ? "" : `\n${lines.join("\n")}\n`;
}

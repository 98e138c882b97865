/** Deciding what agents ask permission for: what is decided is shown, and the answer is to exactly that. */

import { isRecord } from "../../sdk/client/errors.ts";
import type { BridleClient, PermissionRequest, Task } from "../../sdk/client/index.ts";
import { complaintOf, exitCodeOf, exitCodes } from "../exit-codes.ts";
import { isRefusal, type Remote } from "../remote.ts";
import { momentText } from "../terminal/duration.ts";
import { show } from "../terminal/output.ts";
import { canAsk } from "../terminal/prompt.ts";
import { styleFor } from "../terminal/style.ts";
import { table } from "../terminal/table.ts";
import { escapeControls, oneLine } from "../terminal/text.ts";
import { Asking, askForVerdict, riskIn } from "./ask-person.ts";
import type { Settings } from "./command.ts";
import { settledTask, taskIdOf } from "./find-task.ts";
import { hashIn } from "./live-view.ts";
import { approvalLines } from "./pending-lines.ts";

export type DecisionSettings = Settings & { reason?: string; yes?: true };
export type ApproveSettings = DecisionSettings & { all?: true };

/** A request with the task that waits for it. */
interface Waiting {
  request: PermissionRequest;
  task: Task;
}

/** Shows everything that waits and, where somebody can be asked, asks about one after the other. */
export async function walk(remote: Remote, settings: ApproveSettings): Promise<void> {
  const waiting = await waitingIn(remote.client);
  const requests = waiting.map(({ request }) => request);
  if (settings.json === true || waiting.length === 0 || !canAsk() || process.stdout.isTTY !== true) {
    show(settings, requests, () =>
      waiting.length === 0 ? "Nothing waits for a decision.\n" : tableOf(waiting),
    );
    return;
  }
  for (const [index, one] of waiting.entries()) {
    process.stdout.write(
      `${index === 0 ? "" : "\n"}${index + 1} of ${waiting.length}\n${cardOf(one, process.stdout)}`,
    );
    if (isSigned(one)) continue;
    const asking = new Asking(new AbortController().signal, process.stdout.columns || 80);
    const verdict = await askForVerdict(asking, one.request.request, false);
    if (asking.isLeft) {
      process.exitCode = exitCodes.interrupted.code;
      return;
    }
    if (verdict === "approve" || verdict === "deny") {
      const decided = await unlessRefused(() => decide(remote.client, one, verdict === "approve", settings));
      if (decided !== null) process.stdout.write(`${resultOf(decided)}\n`);
    }
  }
}

/** Somebody else may have been faster, and the next one still waits. */
async function unlessRefused(act: () => Promise<PermissionRequest>): Promise<PermissionRequest | null> {
  try {
    return await act();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    process.stderr.write(`bridle: ${complaintOf(error).text}\n`);
    process.exitCode = exitCodeOf(error);
    return null;
  }
}

/** By the id of the request, or of the task that asks. A person sees what it is about before it is done. */
export async function approveOne(
  remote: Remote,
  named: string,
  isApproved: boolean,
  settings: DecisionSettings,
): Promise<void> {
  const one = await findOne(remote.client, named);
  requireUnsigned(one);
  if (settings.json !== true && settings.yes !== true && canAsk()) {
    // Where the question is: results may go to a file, and what is decided must be seen.
    process.stderr.write(cardOf(one, process.stderr));
    const asking = new Asking(new AbortController().signal, process.stdout.columns || 80);
    const wanted = isApproved ? "approve" : "deny";
    const typed = await asking.line(`Type yes to ${wanted}: `);
    if (asking.isLeft) {
      process.exitCode = exitCodes.interrupted.code;
      return;
    }
    if (typed?.trim().toLowerCase() !== "yes")
      throw new Error("it was not confirmed, and nothing was decided.");
  }
  const decided = await decide(remote.client, one, isApproved, settings);
  show(settings, decided, () => `${resultOf(decided)}\n`);
}

export async function approveAll(remote: Remote, settings: ApproveSettings): Promise<void> {
  const waiting = await waitingIn(remote.client);
  const decided: PermissionRequest[] = [];
  for (const one of waiting.filter((each) => !isSigned(each))) {
    const response = await unlessRefused(() => decide(remote.client, one, true, settings));
    if (response !== null) decided.push(response);
  }
  show(settings, decided, () => decided.map((request) => `${resultOf(request)}\n`).join(""));
  const signed = waiting.filter(isSigned);
  if (signed.length > 0) process.stderr.write(`${signed.length} need signatures: bridle approver watch\n`);
}

async function decide(
  { approvals }: BridleClient,
  { request }: Waiting,
  approved: boolean,
  { reason }: DecisionSettings,
): Promise<PermissionRequest> {
  const said = reason === undefined ? {} : { reason };
  return await approvals.respond(request.id, { approved, ...said, ...hashIn(request.request) });
}

/** Everything that a task waits for a decision on, oldest first. */
async function waitingIn(client: BridleClient): Promise<Waiting[]> {
  const found: Waiting[] = [];
  for await (const task of client.tasks.all({ status: "AUTH_REQUIRED", limit: 100 })) {
    const request = await pendingOf(client, task);
    if (request !== null) found.unshift({ request, task });
  }
  return found;
}

async function pendingOf({ approvals }: BridleClient, task: Task): Promise<PermissionRequest | null> {
  const id = task.waiting_for?.permission_request_id;
  if (id == null) return null;
  for await (const request of approvals.all({ taskId: task.id })) if (request.id === id) return request;
  return null;
}

async function findOne(client: BridleClient, named: string): Promise<Waiting> {
  if (named === "last" || named.startsWith("task_")) {
    const task = await settledTask(client, await lastOr(client, named));
    const request = await pendingOf(client, task);
    if (request !== null) return { request, task };
    throw new Error(`task ${task.id} waits for no decision: it is ${task.status}.`);
  }
  const one = (await waitingIn(client)).find(({ request }) => request.id === named);
  if (one !== undefined) return one;
  throw new Error(
    `no request ${oneLine(named)} waits for a decision. \`bridle approve\` lists those that do.`,
  );
}

/** The task that asked last, where `last` was said. */
async function lastOr(client: BridleClient, named: string): Promise<string> {
  if (named !== "last") return named;
  const [newest] = (await client.tasks.list({ status: "AUTH_REQUIRED", limit: 1 })).items;
  return newest?.id ?? (await taskIdOf(client, named));
}

function isSigned({ task }: Waiting): boolean {
  return task.waiting_for?.signature_required === true;
}

function requireUnsigned(one: Waiting): void {
  if (!isSigned(one)) return;
  throw new Error(
    "only signatures of paired approvers count here: they decide with `bridle approver watch`, and are let in with `bridle pair`.",
  );
}

function tableOf(waiting: readonly Waiting[]): string {
  const rows = waiting.map((one) => [
    one.request.id,
    String(riskIn(one.request.request) ?? ""),
    one.task.assigned_agent_id ?? "",
    momentText(one.request.expires_at),
    `${isSigned(one) ? "[signature] " : ""}${actionOf(one.request)}`,
  ]);
  return table(["REQUEST", "RISK", "ASKED BY", "UNTIL", "ACTION"], rows);
}

/** Who asks, and the question. */
const rowsBelow = 3;
const rowsUsual = 24;

function cardOf(one: Waiting, output: NodeJS.WriteStream): string {
  const { request, task } = one;
  const style = styleFor({ isTerminal: output.isTTY === true, env: process.env });
  const columns = (output.columns || 80) - 1;
  const lines = approvalLines(
    { prompt: actionOf(request), request: request.request, until: request.expires_at },
    { columns, rows: Number.POSITIVE_INFINITY, style, isLast: true },
  );
  const asks = `asked by ${task.assigned_agent_id ?? "an agent"} for ${task.created_by}, in ${task.id}`;
  const signed = isSigned(one)
    ? [style.warning("  Only a signature counts here: bridle approver watch")]
    : [];
  // What is pushed off the screen by what comes with it is said again where the question is.
  const isTall = lines.length + rowsBelow > (output.rows || rowsUsual);
  const risk = String(riskIn(request.request) ?? "unknown");
  const again = isTall
    ? [
        style.warning(
          `  There is more of it than the screen holds: ${lines.length} lines. All of it is for:`,
        ),
        `  ${style.strong(oneLine(escapeControls(actionOf(request)), columns - 2))}`,
        `  ${style.warning(oneLine(escapeControls(`risk: ${risk}`), columns - 2))}`,
      ]
    : [];
  const asked = `  ${style.faint(oneLine(asks, columns - 2))}`;
  return `${[...lines, ...again, asked, ...signed].join("\n")}\n`;
}

function actionOf({ action }: PermissionRequest): string {
  if (typeof action === "string") return action;
  return isRecord(action) && typeof action.action === "string" ? action.action : JSON.stringify(action);
}

function resultOf({ id, status }: PermissionRequest): string {
  return oneLine(`${id} is ${status}.`);
}

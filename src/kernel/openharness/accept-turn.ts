/**
 * What a shell brings when it comes back to its run: what it did, what was decided, what was answered. What comes too late
 * is told back, so that the shell knows; what cannot be right refuses the whole request, and nothing of it is taken.
 */

import type { JsonValue } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { decidePermission } from "../approvals/respond-permission-request.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { ShellLinkRecord } from "../kinds/shell-link.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { appendTaskMessage } from "../tasks/append-task-message.ts";
import { shellPrefix } from "../tasks/host-calls.ts";
import { isFinal } from "../tasks/lifecycle.ts";
import { submitHostResult } from "../tasks/submit-host-result.ts";
import { ApprovalMismatch, approvalHashOf } from "./approvals.ts";
import { messageOf, type ShellAttachment } from "./intents.ts";

export const outcomeStatuses = ["completed", "declined", "failed", "skipped", "expired"] as const;
type OutcomeStatus = (typeof outcomeStatuses)[number] | "unreported";

/** What became of a directive, as the agent is given it. */
export type DirectiveOutcome = {
  status: OutcomeStatus;
  result: JsonValue;
  error: { code: string; message: string } | null;
};

/** A shell that asks for this reports; coming back is all that others say. */
export const outcomesCapability = "com.bridle.outcomes";

export interface TurnInput {
  intent: JsonValue | null;
  attachments: ShellAttachment[];
  outcomes: ({ directiveId: string } & DirectiveOutcome)[];
  approvals: { requestId: string; artifactHash: string; approved: boolean; reason: string | null }[];
  answers: { questionId: string; value: JsonValue }[];
}

/** An outcome of something that this run never asked for. */
export class UnknownDirective extends HarnessError {
  constructor() {
    super("invalid_request", "This run gave no directive of this id.", {
      param: "request.context.continuation.extensions.com.bridle.outcomes",
    });
  }
}

/** Takes all of it. Gives the names of what came too late. */
export function acceptTurn(
  unit: Unit,
  link: ShellLinkRecord,
  brought: TurnInput,
  capabilities: readonly string[],
): string[] {
  const late: string[] = [];
  for (const approval of brought.approvals) {
    if (!takeApproval(unit, link, approval)) late.push(approval.requestId);
  }
  for (const answer of brought.answers) {
    if (!takeAnswer(unit, link, answer)) late.push(answer.questionId);
  }
  if (!takeIntent(unit, link, brought)) late.push("user_intent");
  for (const outcome of brought.outcomes) {
    if (!takeOutcome(unit, link, outcome)) late.push(outcome.directiveId);
  }
  if (!capabilities.includes(outcomesCapability)) takeUnreported(unit, link);
  return late;
}

function taskOf(unit: Unit, link: ShellLinkRecord): TaskRecord {
  return unit.require("task", link.task_id);
}

function takeApproval(
  unit: Unit,
  link: ShellLinkRecord,
  { requestId, artifactHash, approved, reason }: TurnInput["approvals"][number],
): boolean {
  requireScope(unit.caller, "approvals:write");
  const request = unit.find("permission_request", requestId);
  if (request?.task_id !== link.task_id) {
    throw new HarnessError("invalid_request", "This run asked for no permission of this id.", {
      param: "request.context.continuation.extensions.com.bridle.approvals",
    });
  }
  if (approvalHashOf(request) !== artifactHash.toLowerCase()) throw new ApprovalMismatch(requestId);
  const task = taskOf(unit, link);
  if (request.status !== "pending" || task.pending?.permission_request_id !== requestId) return false;
  decidePermission(unit, { requestId, approved, reason });
  return true;
}

function takeAnswer(
  unit: Unit,
  link: ShellLinkRecord,
  { questionId, value }: TurnInput["answers"][number],
): boolean {
  const { pending } = taskOf(unit, link);
  if (pending?.kind !== "input" || questionIdOf(link.task_id, pending.step) !== questionId) return false;
  const message = messageOf(unit, value, []);
  appendTaskMessage.decide(unit, { taskId: link.task_id, kind: "input", message });
  return true;
}

/** An answer only to the question that the shell has shown: somebody else may have answered it, and another be open now. */
function takeIntent(
  unit: Unit,
  link: ShellLinkRecord,
  { intent, attachments }: Pick<TurnInput, "intent" | "attachments">,
): boolean {
  if (intent === null && attachments.length === 0) return true;
  const { status, pending } = taskOf(unit, link);
  if (isFinal(status)) return false;
  const isAnswer = intent !== null && pending?.kind === "input" && pending.step === link.told?.question;
  const message = messageOf(unit, intent, attachments);
  appendTaskMessage.decide(unit, {
    taskId: link.task_id,
    kind: isAnswer ? "input" : "interrupt",
    message,
  });
  return true;
}

function takeOutcome(
  unit: Unit,
  link: ShellLinkRecord,
  { directiveId, ...outcome }: TurnInput["outcomes"][number],
): boolean {
  if (!directiveId.startsWith(`${link.task_id}:host:${shellPrefix}`)) throw new UnknownDirective();
  const { host_calls = [], session_id: sessionId } = taskOf(unit, link);
  if (!host_calls.some(({ call_id }) => call_id === directiveId)) return false;
  const result = { output: outcome };
  submitHostResult.decide(unit, { sessionId, callId: directiveId, isShell: true, result });
  return true;
}

/** The shell has done what it does and says nothing about it. */
function takeUnreported(unit: Unit, link: ShellLinkRecord): void {
  for (const directiveId of link.told?.asked ?? []) {
    takeOutcome(unit, link, { directiveId, status: "unreported", result: null, error: null });
  }
}

export function questionIdOf(taskId: string, step: string): string {
  return `${taskId}:${step}`;
}

/** Questions to people: the run waits, out of memory if it takes long, until one is answered or has expired. */

import { answerOf } from "../kernel/answers.ts";
import type { KernelEvent } from "../kernel/events.ts";
import type { PermissionRequestRecord } from "../kernel/resources/permission-request.ts";
import type { PendingRequest, TaskRecord } from "../kernel/resources/task.ts";
import { moveTask, withdrawPermission } from "../kernel/tasks.ts";
import type { Unit } from "../kernel/unit.ts";
import type { JsonObject, JsonValue } from "../store/port.ts";
import type { ApprovalRequest } from "./agent.ts";
import { ApprovalDenied, WaitExpired } from "./failures.ts";
import { jsonCopy } from "./json.ts";
import { never, type Run, waitMsDefault } from "./run.ts";

function pendingRequest(
  run: Run,
  request: Omit<PendingRequest, "expires_at">,
  expiresInMs: number | undefined,
): PendingRequest {
  const expiresAt = run.kernel.clock.now() + (expiresInMs ?? waitMsDefault);
  return { ...request, expires_at: new Date(expiresAt).toISOString() };
}

/** Waits for the person's answer to a question that is on the task, until it expires. */
async function awaitPerson(run: Run, pending: PendingRequest): Promise<KernelEvent> {
  const answer = await run.wait({
    key: pending.step,
    kind: "person",
    reason: pending.prompt,
    until: Date.parse(pending.expires_at),
  });
  if (answer !== "elapsed") return answer;
  const expired = new WaitExpired(pending.prompt, pending.expires_at);
  const { code, message } = expired;
  const seen = { unanswered: true };
  await run.note(async (unit, task) => {
    // An answer that was accepted in the last moment counts.
    seen.unanswered = task.pending?.step === pending.step;
    if (!seen.unanswered) return task;
    await withdrawPermission(unit, task, "timeout", message);
    const failed = unit.emit(task, "span.failed", {
      step: pending.step,
      kind: pending.kind === "input" ? "ask" : "approve",
      name: pending.prompt,
      result: { error: { code, message } },
    });
    return moveTask(unit, failed, "WORKING", "nobody answered in time");
  });
  await run.flush();
  if (seen.unanswered) {
    await run.give(pending.step);
    throw expired;
  }
  const late = await run.wait({ key: pending.step, kind: "person", reason: pending.prompt, until: null });
  return late === "elapsed" ? await never() : late;
}

export function ask(
  run: Run,
  prompt: string,
  schema: JsonObject | null,
  expiresInMs: number | undefined,
): Promise<JsonValue> {
  return askPerson(run, run.key("ask"), { prompt, schema }, expiresInMs);
}

async function askPerson(
  run: Run,
  step: string,
  { prompt, schema }: Pick<PendingRequest, "prompt" | "schema">,
  expiresInMs: number | undefined,
): Promise<JsonValue> {
  const recorded = await run.recall(step);
  const begun = recorded?.begun?.event === "task.input_required" ? recorded.begun.payload.request : null;
  if (begun !== null && begun.prompt !== run.redactor.text(prompt)) {
    await run.differs(`${step} ${JSON.stringify(begun.prompt)}`, `${step} ${JSON.stringify(prompt)}`);
  }
  const request =
    begun ??
    pendingRequest(run, { kind: "input", step, prompt, schema, permission_request_id: null }, expiresInMs);
  const inquire = async () => {
    if (begun === null) {
      await run.note((unit, task) =>
        unit.emit(moveTask(unit, task, "INPUT_REQUIRED", prompt), "task.input_required", { request }),
      );
    }
    return await awaitPerson(run, request);
  };
  const answer = recorded?.ended ?? (await run.inTurn(step, inquire));
  if (answer.event !== "user.input_submitted") throw new WaitExpired(prompt, request.expires_at);
  return answerOf(await run.answerParts(answer.payload.message_id), request.schema);
}

/** `step` names the question where it does not come from a call of the agent's. */
export function approve(run: Run, request: ApprovalRequest, step = run.key("approve")): Promise<void> {
  return askPermission(run, step, request);
}

async function askPermission(
  run: Run,
  step: string,
  { action, payload = null, risk = "medium", expiresInMs }: ApprovalRequest,
): Promise<void> {
  const shown = { payload: jsonCopy(payload), risk };
  const recorded = await run.recall(step);
  const begun = recorded?.begun?.event === "task.auth_required" ? recorded.begun.payload.request : null;
  if (begun !== null && begun.prompt !== run.redactor.text(action)) {
    await run.differs(`${step} ${JSON.stringify(begun.prompt)}`, `${step} ${JSON.stringify(action)}`);
  }
  const request =
    begun ??
    pendingRequest(
      run,
      { kind: "approval", step, prompt: action, schema: null, permission_request_id: null },
      expiresInMs,
    );
  const inquire = async () => {
    if (begun === null) await run.note((unit, task) => requestPermission(unit, task, request, shown));
    return await awaitPerson(run, request);
  };
  const answer = recorded?.ended ?? (await run.inTurn(step, inquire));
  if (answer.event !== "user.tool_confirmation") throw new WaitExpired(action, request.expires_at);
  if (!answer.payload.approved) throw new ApprovalDenied(action, answer.payload.reason);
}

function requestPermission(
  unit: Unit,
  task: TaskRecord,
  request: PendingRequest,
  asked: { payload: JsonValue; risk: NonNullable<ApprovalRequest["risk"]> },
): TaskRecord {
  const { prompt: action, step, expires_at } = request;
  const permission: PermissionRequestRecord = {
    ...unit.envelope("permission_request", "perm"),
    metadata: {},
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    status: "pending",
    source: "hitl",
    step,
    action,
    request: { action, ...asked },
    response: null,
    receipt_id: null,
    expires_at,
  };
  unit.emit(permission, "tool.approval_required", { permission_request: permission });
  return unit.emit(moveTask(unit, task, "AUTH_REQUIRED", action), "task.auth_required", {
    request: { ...request, permission_request_id: permission.id },
  });
}

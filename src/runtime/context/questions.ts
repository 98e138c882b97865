/** Questions to people: the run waits, out of memory if it takes long, until one is answered or has expired. */

import {
  type ApprovalKind,
  artifactHashOf,
  bindingOf,
  type Intent,
} from "../../kernel/approvals/artifact.ts";
import type { KernelEvent } from "../../kernel/core/events.ts";
import type { Unit } from "../../kernel/core/unit.ts";
import type { PermissionRequestRecord } from "../../kernel/kinds/permission-request.ts";
import { riskDefault } from "../../kernel/kinds/persona.ts";
import type { PendingRequest, TaskRecord } from "../../kernel/kinds/task.ts";
import { answerOf } from "../../kernel/tasks/answers.ts";
import { moveTask, withdrawPermission } from "../../kernel/tasks/tasks.ts";
import type { JsonValue } from "../../store/port.ts";
import { checkValue, isStandardSchema, jsonSchemaOf, listProblems } from "../../tools/schema.ts";
import type { ApprovalRequest } from "../agents/agent.ts";
import { AgentFailure, ApprovalDenied, WaitExpired } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";
import { Permit } from "../run/permits.ts";
import { never } from "../run/promises.ts";
import type { Change } from "../run/record-run.ts";
import type { Run } from "../run/run.ts";
import { waitMsDefault } from "../run/waits.ts";

function pendingRequest(
  run: Run,
  request: Omit<PendingRequest, "expires_at">,
  expiresInMs: number | undefined,
): PendingRequest {
  const expiresAt = run.kernel.clock.now() + (expiresInMs ?? waitMsDefault);
  return { ...request, expires_at: new Date(expiresAt).toISOString() };
}

/** Waits for the person's answer to a question that is on the task, until it expires. */
async function awaitPerson(
  run: Run,
  pending: PendingRequest,
  beforeGiving?: (answer: KernelEvent) => Promise<void>,
): Promise<KernelEvent> {
  const wait = { key: pending.step, kind: "person", reason: pending.prompt } as const;
  const answer = await run.recording.wait({ ...wait, until: Date.parse(pending.expires_at) }, beforeGiving);
  if (answer !== "elapsed") return answer;
  const expired = new WaitExpired(pending.prompt, pending.expires_at);
  const { code, message } = expired;
  const seen = { unanswered: true };
  await run.recording.note((unit, task) => {
    // An answer that was accepted in the last moment counts.
    seen.unanswered = task.pending?.step === pending.step;
    if (!seen.unanswered) return task;
    withdrawPermission(unit, task, "timeout", message);
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
    await run.recording.give(pending.step);
    throw expired;
  }
  const late = await run.recording.wait({ ...wait, until: null }, beforeGiving);
  return late === "elapsed" ? await never() : late;
}

/** How often the same question is asked, where only the author's code can tell that an answer does not fit. */
const asksMax = 10;

/** The server refuses answers that do not fit the JSON Schema. What a Standard Schema refuses beyond that is asked again, with its reason. */
export async function ask(
  run: Run,
  question: string,
  schema: object | undefined,
  expiresInMs: number | undefined,
): Promise<unknown> {
  const form = jsonSchemaOf(schema);
  let prompt = question;
  for (let asked = 1; ; asked++) {
    const answer = await askPerson(run, run.key("ask"), { prompt, schema: form }, expiresInMs);
    if (schema === undefined || !isStandardSchema(schema)) return answer;
    const checked = await checkValue(schema, answer);
    if ("value" in checked) return checked.value;
    const problems = listProblems(checked.problems);
    if (asked === asksMax)
      throw new AgentFailure("invalid_answer", `No answer to ${JSON.stringify(question)} fits: ${problems}.`);
    prompt = `${question} (${problems})`;
  }
}

/** Asks under a name of its own: for what is asked in the middle of another step. */
export async function askPerson(
  run: Run,
  step: string,
  { prompt, schema }: Pick<PendingRequest, "prompt" | "schema">,
  expiresInMs: number | undefined,
): Promise<JsonValue> {
  const recorded = await run.recording.recall(step);
  const begun = recorded?.begun?.event === "task.input_required" ? recorded.begun.payload.request : null;
  if (begun !== null && begun.prompt !== run.redactor.text(prompt)) {
    await run.recording.differs(
      `${step} ${JSON.stringify(begun.prompt)}`,
      `${step} ${JSON.stringify(prompt)}`,
    );
  }
  const request =
    begun ??
    pendingRequest(run, { kind: "input", step, prompt, schema, permission_request_id: null }, expiresInMs);
  const inquire = async () => {
    if (begun === null) {
      await run.recording.note((unit, task) =>
        unit.emit(moveTask(unit, task, "INPUT_REQUIRED", prompt), "task.input_required", { request }),
      );
    }
    return await awaitPerson(run, request);
  };
  const answer = recorded?.ended ?? (await run.questions.ask(step, inquire));
  if (answer.event !== "user.input_submitted") throw new WaitExpired(prompt, request.expires_at);
  return answerOf(await run.recording.answerParts(answer.payload.message_id), request.schema);
}

/** What a person was asked under this name in an earlier run, and said. Null for what was never asked; no answer: in time. */
export async function askedBefore(
  run: Run,
  step: string,
): Promise<{ prompt: string; answer: JsonValue | undefined } | null> {
  const recorded = await run.recording.recall(step);
  if (recorded?.begun?.event !== "task.input_required") return null;
  const { request } = recorded.begun.payload;
  const answer = recorded.ended ?? (await run.questions.ask(step, () => awaitPerson(run, request)));
  if (answer.event !== "user.input_submitted") return { prompt: request.prompt, answer: undefined };
  const parts = await run.recording.answerParts(answer.payload.message_id);
  return { prompt: request.prompt, answer: answerOf(parts, request.schema) };
}

export interface ApprovalTerms {
  step?: string;
  kind?: ApprovalKind;
  /** What of the payload must be the same whenever the run is repeated; all of it unless said. */
  bound?: JsonValue;
  /** What is told right before the request for approval. */
  announce?: Change;
}

/** What the run asks permission for. */
type Asked = ApprovalRequest & ApprovalTerms & Required<Pick<ApprovalTerms, "step" | "kind">>;

/** Asks, and uses the approval. `step` names the question where it does not come from a call of the agent's. */
export async function approve(
  run: Run,
  request: ApprovalRequest,
  { step = run.key("approve"), kind = "approve", bound }: ApprovalTerms = {},
): Promise<void> {
  const terms = { step, kind, ...(bound === undefined ? {} : { bound }) };
  const permit = await askPermission(run, { ...request, ...terms }, (asked) => asked.consume());
  if (!run.recording.isReplay) await permit.assertConsumed();
}

/** Asks, and leaves it to the code that was approved to use the approval. */
export function askPermit(
  run: Run,
  request: ApprovalRequest,
  terms: Required<Pick<ApprovalTerms, "kind">> & Pick<ApprovalTerms, "announce">,
): Promise<Permit> {
  return askPermission(run, { ...request, step: run.key("approve"), ...terms });
}

async function askPermission(
  run: Run,
  {
    step,
    kind,
    action,
    payload = null,
    bound = payload,
    risk = riskDefault,
    expiresInMs,
    announce,
    offer,
  }: Asked,
  beforeGiving?: (permit: Permit) => Promise<void>,
): Promise<Permit> {
  const intent = { taskId: run.recording.actsAs, step, kind, action, payload: jsonCopy(payload), risk };
  const binding = bindingOf(run.kernel, { ...intent, payload: jsonCopy(bound) });
  const recorded = await run.recording.recall(step);
  const begun = recorded?.begun?.event === "task.auth_required" ? recorded.begun.payload.request : null;
  if (begun !== null) await assertSameIntent(run, begun, action, binding);
  const asked: PendingRequest =
    begun ??
    pendingRequest(
      run,
      { kind: "approval", step, prompt: action, schema: null, permission_request_id: null, binding },
      expiresInMs,
    );
  const known = { id: begun?.permission_request_id ?? "" };
  const permit = new Permit(run, () => known.id, binding);
  const inquire = async () => {
    if (begun === null) {
      await run.recording.note((unit, task) => {
        const permission = permissionFor(unit, task, asked, { ...intent, offer });
        known.id = permission.id;
        return requestPermission(unit, announce?.(unit, task) ?? task, asked, permission);
      });
    }
    return await awaitPerson(run, asked, async (event) => {
      if (event.event === "user.tool_confirmation" && event.payload.approved) await beforeGiving?.(permit);
    });
  };
  const answer = recorded?.ended ?? (await run.questions.ask(step, inquire));
  if (answer.event !== "user.tool_confirmation") throw new WaitExpired(action, asked.expires_at);
  if (!answer.payload.approved) throw new ApprovalDenied(action, answer.payload.reason);
  permit.modifiedInput = answer.payload.modified_input;
  return permit;
}

/**
 * The approval is of what was asked then. Code that wants something else now has not asked for it. A replay does nothing,
 * and may be of a log whose codes another server made.
 */
async function assertSameIntent(
  run: Run,
  { step, prompt, binding }: PendingRequest,
  action: string,
  bindingNow: string,
): Promise<void> {
  const attempted = run.redactor.text(action);
  if (prompt !== attempted) {
    await run.recording.differs(`${step} ${JSON.stringify(prompt)}`, `${step} ${JSON.stringify(attempted)}`);
  } else if (binding !== undefined && binding !== bindingNow && !run.recording.isReplay) {
    const name = `${step} ${JSON.stringify(prompt)}`;
    await run.recording.differs(`${name} as it was put to people`, `${name} with other details`);
  }
}

function permissionFor(
  unit: Unit,
  task: TaskRecord,
  { step, binding = "", expires_at }: PendingRequest,
  { action, payload, risk, kind, offer }: Intent & { offer: ApprovalRequest["offer"] | undefined },
): PermissionRequestRecord {
  const shown = unit.redactor.value({
    action,
    payload,
    risk,
    kind,
    ...(offer === undefined ? {} : { offer }),
  });
  return {
    ...unit.envelope("permission_request", "perm"),
    metadata: {},
    workspace_id: task.workspace_id,
    session_id: task.session_id,
    task_id: task.id,
    status: "pending",
    source: "hitl",
    step,
    action: shown.action,
    request: { ...shown, artifact_hash: artifactHashOf(shown, binding) },
    binding,
    response: null,
    receipt_id: null,
    expires_at,
  };
}

function requestPermission(
  unit: Unit,
  task: TaskRecord,
  request: PendingRequest,
  permission: PermissionRequestRecord,
): TaskRecord {
  unit.emit(permission, "tool.approval_required", { permission_request: permission });
  return unit.emit(moveTask(unit, task, "AUTH_REQUIRED", request.prompt), "task.auth_required", {
    request: { ...request, permission_request_id: permission.id },
  });
}

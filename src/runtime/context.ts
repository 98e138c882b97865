/** The `ctx` of an agent: each call is a step, taken from the journal if it is there and recorded if it is not. */

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { answerOf } from "../kernel/answers.ts";
import { type SubmitTask, submitTask } from "../kernel/commands/submit-task.ts";
import { unseal } from "../kernel/content.ts";
import { HarnessError } from "../kernel/errors.ts";
import type { KernelEvent, StepSpan } from "../kernel/events.ts";
import { type Part, textPart } from "../kernel/resources/message.ts";
import type { PermissionRequestRecord } from "../kernel/resources/permission-request.ts";
import type { PendingRequest } from "../kernel/resources/task.ts";
import { appendMessage, moveTask, withdrawPermission } from "../kernel/tasks.ts";
import { Unit } from "../kernel/unit.ts";
import type { JsonObject, JsonValue } from "../store/port.ts";
import type {
  AgentContext,
  ApprovalRequest,
  ArtifactContent,
  ArtifactInput,
  Child,
  ChildResult,
  SpawnRequest,
} from "./agent.ts";
import { openArtifact, writeArtifact } from "./artifacts.ts";
import { AgentFailure, ApprovalDenied, WaitExpired } from "./failures.ts";
import { filesOf } from "./files.ts";
import { begunTurn, type JournalEntry } from "./journal.ts";
import { jsonCopy } from "./json.ts";
import { guarded, handled } from "./promises.ts";
import { asJsonSchema } from "./registry.ts";
import { never, type Run } from "./run.ts";
import { readSecret, secret } from "./secrets.ts";
import { attemptStep, outputOf, performStep } from "./steps.ts";

/** How long a question may stay open when the agent does not say. */
const waitMsDefault = 7 * 24 * 60 * 60 * 1000;

export interface RunInput {
  input: JsonObject;
  text: string;
  parts: readonly Part[];
}

export function createContext(run: Run, { input, text, parts }: RunInput): AgentContext {
  const { task, kernel } = run;
  /** A task asks one question at a time; the next waits for its turn. */
  let question: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(ask: () => Promise<T>): Promise<T> => {
    const turn = question.then(ask);
    question = turn.catch(() => {});
    return turn;
  };

  /** A step of its own name, which is written down and so must not be a secret. */
  function named(kind: "time" | "random" | "checkpoint", given: string): StepSpan {
    const name = run.redactor.text(given);
    return { step: run.key(`${kind}:${name}`), kind, name };
  }

  /** A value that the world gives for free: noted at once, on disk before anybody outside can see what came of it. */
  async function value<T extends JsonValue>(span: StepSpan, make: () => T): Promise<T> {
    const recorded = await run.recall(span.step);
    if (recorded !== undefined) return (await outputOf(run, recorded)) as T;
    const made = make();
    await run.note((unit, current) =>
      unit.emit(current, "span.completed", { ...span, result: { output: unit.seal<JsonValue>(made) } }),
    );
    return made;
  }

  return guarded<AgentContext>({
    taskId: run.actsAs,
    sessionId: task.session_id,
    workspaceId: task.workspace_id,
    input,
    text,
    parts,
    signal: run.signal,

    async step(given, code, { kind = "step" } = {}) {
      const name = run.redactor.text(given);
      const span: StepSpan = { step: run.key(`${kind}:${name}`), kind, name };
      const recorded = await run.recall(span.step);
      const attempt = () => code({ signal: run.signal, idempotencyKey: `${task.id}:${span.step}` });
      // The journal holds what this very step returned before, so it has the step's own type.
      type Output = Awaited<ReturnType<typeof code>>;
      if (kind === "secret")
        return (await readSecret(run, span, recorded, () => attemptStep(attempt))) as Output;
      if (recorded !== undefined) return (await outputOf(run, recorded)) as Output;
      return (await performStep(run, span, attempt)) as Output;
    },

    secret: (name, { vault } = {}) => secret(run, name, vault),
    files: filesOf(run),

    async say(content) {
      const said = typeof content === "string" ? [textPart(content)] : jsonCopy(content);
      const step = run.key("say");
      const recorded = await run.recall(step);
      if (recorded !== undefined && (await isSaidAgain(run, step, recorded, said))) return;
      await run.note((unit, current) => {
        const session = { id: current.session_id, workspace_id: current.workspace_id };
        appendMessage(unit, { session, taskId: current.id }, { role: "agent", parts: said }, step);
        return current;
      });
    },

    ask: ((prompt: string, schema?: object, options?: { expiresInMs?: number }) =>
      inTurn(() => ask(run, prompt, asJsonSchema(schema), options?.expiresInMs))) as AgentContext["ask"],

    approve: (request) => inTurn(() => approve(run, request)),

    artifact: (artifact: ArtifactInput & ArtifactContent) => writeArtifact(run, artifact),
    streamArtifact: (artifact) => openArtifact(run, artifact),

    async sleep(ms) {
      const span: StepSpan = { step: run.key("sleep"), kind: "sleep", name: `${ms} ms` };
      const recorded = await run.recall(span.step);
      if (recorded?.ended != null) return;
      const begun = recorded?.begun;
      const until =
        begun?.event === "span.started" && begun.payload.until !== undefined
          ? Date.parse(begun.payload.until)
          : kernel.clock.now() + ms;
      if (begun == null) {
        const at = new Date(until).toISOString();
        await run.note((unit, current) => unit.emit(current, "span.started", { ...span, until: at }));
      }
      await run.wait({
        key: span.step,
        kind: "timer",
        reason: `sleeps until ${new Date(until).toISOString()}`,
        until,
      });
      await run.note((unit, current) =>
        unit.emit(current, "span.completed", { ...span, result: { output: { inline: null } } }),
      );
    },

    now: async (label = "now") => new Date(await value(named("time", label), () => kernel.clock.now())),
    random: (label = "random") => value(named("random", label), () => Math.random()),
    uuid: (label = "uuid") => value<string>(named("random", label), () => randomUUID()),

    async checkpoint(name) {
      await value(named("checkpoint", name), () => null);
    },

    async progress(message, percent) {
      const step = run.key("progress");
      if ((await run.recall(step)) !== undefined) return;
      const update = percent === undefined ? { step, message } : { step, message, percent };
      await run.note((unit, current) => unit.emit(current, "span.updated", update));
    },

    spawn: (request) => spawn(run, request),
  });
}

async function isSaidAgain(
  run: Run,
  step: string,
  { ended }: JournalEntry,
  attempted: Part[],
): Promise<boolean> {
  if (ended?.event !== "agent.message") return true;
  const said = await unseal(ended.payload.message.parts, run.kernel.store);
  const written = run.redactor.value(attempted);
  if (isDeepStrictEqual(said, written)) {
    await run.repeat(step);
    return true;
  }
  await run.differs(`${step} ${JSON.stringify(said)}`, `${step} ${JSON.stringify(written)}`);
  return false;
}

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
  await run.noteAndSee(pending.step, async (unit, task) => {
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
  if (seen.unanswered) throw expired;
  const late = await run.wait({ key: pending.step, kind: "person", reason: pending.prompt, until: null });
  return late === "elapsed" ? await never() : late;
}

async function ask(
  run: Run,
  prompt: string,
  schema: JsonObject | null,
  expiresInMs: number | undefined,
): Promise<JsonValue> {
  const step = run.key("ask");
  const recorded = await run.recall(step);
  const begun = recorded?.begun?.event === "task.input_required" ? recorded.begun.payload.request : null;
  if (begun !== null && begun.prompt !== run.redactor.text(prompt)) {
    await run.differs(`${step} ${JSON.stringify(begun.prompt)}`, `${step} ${JSON.stringify(prompt)}`);
  }
  const request =
    begun ??
    pendingRequest(run, { kind: "input", step, prompt, schema, permission_request_id: null }, expiresInMs);
  if (begun === null) {
    await run.note((unit, task) =>
      unit.emit(moveTask(unit, task, "INPUT_REQUIRED", prompt), "task.input_required", { request }),
    );
  }
  const answer = recorded?.ended ?? (await awaitPerson(run, request));
  if (answer.event !== "user.input_submitted") throw new WaitExpired(prompt, request.expires_at);
  return answerOf(await run.answerParts(answer.payload.message_id), request.schema);
}

async function approve(run: Run, { action, risk, expiresInMs, ...asked }: ApprovalRequest): Promise<void> {
  const payload = jsonCopy(asked.payload);
  const step = run.key("approve");
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
  if (begun === null) {
    await run.note((unit, task) => {
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
        request: { action, payload: payload ?? null, risk: risk ?? "medium" },
        response: null,
        receipt_id: null,
        expires_at: request.expires_at,
      };
      unit.emit(permission, "tool.approval_required", { permission_request: permission });
      return unit.emit(moveTask(unit, task, "AUTH_REQUIRED", action), "task.auth_required", {
        request: { ...request, permission_request_id: permission.id },
      });
    });
  }
  const answer = recorded?.ended ?? (await awaitPerson(run, request));
  if (answer.event !== "user.tool_confirmation") throw new WaitExpired(action, request.expires_at);
  if (!answer.payload.approved) throw new ApprovalDenied(action, answer.payload.reason);
}

/** A child that would be refused is a step that failed, now and whenever the run is repeated. */
async function assertAcceptable(run: Run, span: StepSpan, request: SubmitTask): Promise<void> {
  // What the child is to be submitted under must be there.
  await run.flush();
  try {
    await submitTask.decide(new Unit(run.kernel, run.caller), request);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    const { code, message } = error;
    await run.note((unit, task) =>
      unit.emit(task, "span.failed", { ...span, result: { error: { code, message } } }),
    );
    throw new AgentFailure(code, message);
  }
}

async function spawn(run: Run, { personaId, input }: SpawnRequest): Promise<Child> {
  const span: StepSpan = { step: run.key("spawn"), kind: "spawn", name: personaId ?? run.task.persona_id };
  const recorded = await run.recallBegun(span.step);
  const begun = recorded?.begun?.event === "span.started" ? recorded.begun.payload.child_task_id : undefined;
  const childId = begun ?? run.kernel.newId("task");
  // The result takes its turn whether or not the agent ever asks for it.
  const ended = recorded?.ended == null ? null : run.turnOf(span.step).then(() => recorded.ended);
  if (begun !== undefined) await run.turnOf(begunTurn(span.step));
  else if (ended !== null && (await ended)?.event === "span.failed")
    await outputOf(run, { ended: await ended });
  else {
    const request: SubmitTask = {
      sessionId: run.task.session_id,
      personaId: personaId ?? run.task.persona_id,
      parentTaskId: run.task.id,
      parentStep: span.step,
      taskId: childId,
      input: { payload: typeof input === "string" ? { text: input } : jsonCopy(input) },
    };
    await assertAcceptable(run, span, request);
    await run.note(async (unit, task) => {
      await submitTask.decide(unit, request);
      return unit.emit(task, "span.started", { ...span, child_task_id: childId });
    });
  }
  let result: Promise<ChildResult> | null = null;
  return {
    taskId: childId,
    result() {
      result ??= handled(resultOf());
      return result;
    },
  };

  async function resultOf(): Promise<ChildResult> {
    const event =
      (await ended) ??
      (await run.wait({ key: span.step, kind: "child", reason: `waits for task ${childId}`, until: null }));
    if (event === "elapsed") return await never();
    // Written by the kernel when the child ended, in this very shape.
    return (await outputOf(run, { ended: event })) as ChildResult;
  }
}

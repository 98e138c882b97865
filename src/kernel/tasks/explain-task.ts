/**
 * Why a task waits, or ended, in one sentence: from its record, from what it waits for, from the log and from what this process is doing.
 * It is an answer for a person; programs decide by `waits_for`.
 */

import { type Caller, mayUse } from "../../policy/caller.ts";
import { asKernelEvent } from "../core/events.ts";
import { findVisible } from "../core/read.ts";
import type { Kernel } from "../kernel.ts";
import { exchangesOf, isLive } from "../kinds/exchange.ts";
import type { HandoffRecord } from "../kinds/handoff.ts";
import type { PermissionRequestRecord } from "../kinds/permission-request.ts";
import { demandsHarp, quorumOf, riskDefault } from "../kinds/persona.ts";
import type { PendingRequest, TaskRecord } from "../kinds/task.ts";
import { quotaInQuestion } from "../quotas/question.ts";
import { type Cause, type QuotaLimit, type WaitKind, waitKindOf } from "./explain/cause.ts";
import { docsFor } from "./explain/failure-help.ts";
import { wordsFor } from "./explain/words.ts";
import { isFinal, type TaskStatus, unfinished } from "./lifecycle.ts";
import { readTask } from "./read-tasks.ts";

export interface TaskExplanation {
  task_id: string;
  status: TaskStatus;
  sentence: string;
  since: string;
  until: string | null;
  /** Null when it has ended. */
  waits_for: WaitKind | null;
  what_helps: string[];
  /** What to look at. */
  about: { object: string; id: string }[];
  /** The page that explains a failure. */
  docs: string | null;
}

/** Children that are looked at; more are only counted. */
const childrenMax = 20;
/** Where the request to cancel is, seen from the end of a task's log. */
const lastEvents = 50;

export async function explainTask(deps: Kernel, caller: Caller, taskId: string): Promise<TaskExplanation> {
  const task = await readTask(deps, caller, taskId);
  const cause = await causeOf(deps, caller, task);
  const { sentence, whatHelps } = wordsFor(cause, cause.kind);
  const { agent, status } = task;
  const isStuck = !isFinal(status) && cause.kind !== "agent" && !isLoaded(deps, task);
  return {
    task_id: task.id,
    status,
    sentence,
    since: sinceOf(task, cause),
    until: untilOf(cause),
    waits_for: waitKindOf[cause.kind],
    // Whatever it waits for now, it would wait for this next.
    what_helps: isStuck
      ? [...whatHelps, `Load the agent ${agent.name}, which is not loaded here.`]
      : whatHelps,
    about: aboutOf(task, cause),
    docs: cause.kind === "failed" ? docsFor(cause.failure.code) : null,
  };
}

async function causeOf(deps: Kernel, caller: Caller, task: TaskRecord): Promise<Cause> {
  if (isFinal(task.status)) return await endingOf(deps, task);
  if (task.pending !== null) return await questionOf(deps, caller, task, task.pending);
  const running = deps.work.runningSteps(task.id);
  if (running !== null && running.length > 0) {
    const blockers = running.flatMap(({ blocker }) => blocker ?? []);
    if (blockers.length < running.length) return { kind: "steps", running };
    const [blocker] = blockers;
    if (blocker?.by === "retry") return { kind: "retry", blocker };
    return { kind: "budget", quotaIds: task.quota_ids };
  }
  const outside = await outsideWait(deps, task);
  if (outside !== null) return outside;
  if (running !== null) return { kind: "code" };
  const session = await findVisible(deps.store, caller, "session", task.session_id);
  if (session?.state === "PAUSED") return { kind: "paused", sessionId: session.id };
  if (isLoaded(deps, task)) return { kind: "queue", work: deps.work.facts() };
  const { name, version } = task.agent;
  return { kind: "agent", name, version, loaded: deps.agents.find(name)?.version ?? null };
}

function isLoaded({ agents, work }: Kernel, { id, agent: { name, version } }: TaskRecord): boolean {
  return work.runningSteps(id) !== null || agents.has(name, version);
}

async function endingOf({ store }: Kernel, task: TaskRecord): Promise<Cause> {
  if (task.status === "COMPLETED") return { kind: "completed", summary: task.outcome?.summary ?? "" };
  if (task.status === "FAILED") {
    const failure = task.failure ?? { code: "internal_error", message: "Nothing is known of why." };
    return { kind: "failed", failure, agent: task.agent.name };
  }
  const events = await store
    .of(task.tenant_id)
    .events({ taskId: task.id, after: 0, limit: lastEvents, newestFirst: true });
  const asked = events.find(
    ({ event, resource }) => event === "user.cancel_requested" && resource.id === task.id,
  );
  const event = asked === undefined ? undefined : asKernelEvent(asked);
  const reason = event?.event === "user.cancel_requested" ? event.payload.reason : null;
  return { kind: "canceled", by: event?.actor ?? null, reason };
}

async function questionOf(
  deps: Kernel,
  caller: Caller,
  { policy: { approval_policy: policy } }: TaskRecord,
  { kind, step, prompt, permission_request_id, expires_at: until }: PendingRequest,
): Promise<Cause> {
  if (kind === "input") return { kind: "input", prompt, until };
  const document = await deps.store
    .of(caller.tenantId)
    .get("permission_request", permission_request_id ?? "");
  const request = document?.body as PermissionRequestRecord | undefined;
  const quotaId = quotaInQuestion(step);
  if (quotaId !== null) return await quotaQuestionOf(deps, caller, quotaId, request, until);
  const exchanges = request === undefined ? [] : exchangesOf(request);
  return {
    kind: "approval",
    action: prompt,
    risk: String(request?.request.risk ?? riskDefault),
    approved: exchanges.filter(({ state }) => state === "APPROVED").length,
    quorum: quorumOf(policy),
    askedOf: exchanges.filter(isLive).map(({ approver_id }) => approver_id),
    isSigned: demandsHarp(policy),
    until,
  };
}

async function quotaQuestionOf(
  { store }: Kernel,
  caller: Caller,
  quotaId: string,
  request: PermissionRequestRecord | undefined,
  until: string,
): Promise<Cause> {
  // When it starts anew is the quota's own matter, which not everybody may see who sees the task.
  const quota = mayUse(caller, "quotas:read")
    ? await findVisible(store, caller, "quota", quotaId)
    : undefined;
  return {
    kind: "quota_question",
    quotaId,
    limit: limitIn(request?.request.payload),
    resetAt: quota?.reset_at ?? null,
    until,
  };
}

/** As the run put it to people. */
function limitIn(payload: unknown): QuotaLimit | null {
  const { limit, most, used }: Record<string, unknown> = Object(payload);
  if (typeof limit !== "string" || typeof most !== "number" || typeof used !== "number") return null;
  return { name: limit, most, used };
}

/** What nobody does here. */
async function outsideWait(deps: Kernel, task: TaskRecord): Promise<Cause | null> {
  const store = deps.store.of(task.tenant_id);
  const { host_calls: calls = [], handoff_ids: handoffIds = [], parked } = task;
  const [call] = calls;
  if (call !== undefined) {
    const capabilities = [...new Set(calls.map(({ capability }) => capability))];
    return { kind: "host", capabilities, until: parked?.until ?? call.expires_at };
  }
  if (parked === null) return null;
  const { until, reason } = parked;
  if (handoffIds.length > 0) {
    const found = await Promise.all(handoffIds.map((id) => store.get("handoff", id)));
    const remotes = found.flatMap((document) => {
      if (document === undefined) return [];
      const { url, remote, problem } = document.body as HandoffRecord;
      return [{ url, state: remote?.state ?? null, problem }];
    });
    return { kind: "remote", remotes, until };
  }
  const documents = await store.list({
    kind: "task",
    by: { taskId: task.id },
    statuses: unfinished,
    order: "oldest_first",
    limit: childrenMax,
  });
  const children = documents
    .map(({ body }) => body as TaskRecord)
    .filter(({ parent_step }) => parent_step !== null)
    .map(({ id, agent, status }) => ({ id, agent: agent.name, status }));
  return children.length > 0 ? { kind: "children", children, until } : { kind: "timer", until, reason };
}

function sinceOf(task: TaskRecord, cause: Cause): string {
  switch (cause.kind) {
    case "completed":
    case "failed":
    case "canceled":
    case "input":
    case "approval":
    case "quota_question":
      return task.status_at;
    case "steps":
      return cause.running[0]?.since ?? task.status_at;
    case "queue":
    case "paused":
    case "agent":
      return task.runnable_since;
    case "code":
    case "retry":
    case "budget":
      return task.started_at ?? task.status_at;
    default:
      return task.updated_at;
  }
}

function untilOf(cause: Cause): string | null {
  if (cause.kind === "retry") return cause.blocker.until;
  return "until" in cause ? cause.until : null;
}

function aboutOf(task: TaskRecord, cause: Cause): TaskExplanation["about"] {
  switch (cause.kind) {
    case "approval":
    case "quota_question": {
      const id = task.pending?.permission_request_id ?? null;
      const quota = cause.kind === "approval" ? [] : [{ object: "quota", id: cause.quotaId }];
      return [...(id === null ? [] : [{ object: "permission_request", id }]), ...quota];
    }
    case "budget":
      return cause.quotaIds.map((id) => ({ object: "quota", id }));
    case "paused":
      return [{ object: "session", id: cause.sessionId }];
    case "children":
      return cause.children.map(({ id }) => ({ object: "task", id }));
    default:
      return [];
  }
}

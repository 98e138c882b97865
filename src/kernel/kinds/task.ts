/**
 * A task: one unit of agent work. Beside what the protocol shows, the record keeps what the runtime needs to go on
 * after a crash: which agent version runs it, what it waits for, and when to look at it next.
 */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { Content } from "../core/content.ts";
import type { EventPayloads, KernelEvent, StepSpan, Trimmed } from "../core/events.ts";
import type { TraceContext } from "../core/trace.ts";
import { isFinal, type TaskStatus } from "../tasks/lifecycle.ts";
import type { Failure, Outcome } from "./outcome.ts";
import type { TaskPolicy } from "./persona.ts";
import type { ReplayPlan } from "./replay.ts";
import type { Resource } from "./resource.ts";
import type { TaskShell } from "./shell-link.ts";
import type { Submitter } from "./submitter.ts";

/** A message is named, not copied: it has a record of its own. */
export type TaskInput = { message_id: string } | { payload: Content<JsonObject> };

/** A question to a person. The task stays in INPUT_REQUIRED or AUTH_REQUIRED until it is answered or expires. */
export interface PendingRequest {
  kind: "input" | "approval";
  /** The step of the run that waits. */
  step: string;
  prompt: string;
  /** JSON Schema that an answer has to meet. */
  schema: JsonObject | null;
  permission_request_id: string | null;
  /** Of an approval: recognizes exactly what is to be done. */
  binding?: string;
  expires_at: string;
}

/** The run is out of memory, waiting for a timer or for child tasks. */
export interface Parked {
  reason: string;
  until: string | null;
}

export interface Signal {
  signal_id: string;
  name: string;
  payload: Content<JsonValue>;
}

export interface RetryOf {
  task_id: string;
  /** The first of several: the task that the agent believes it works on. */
  first_task_id: string;
  /** The step that is done again first; null when everything that was recorded is kept. */
  from_step: string | null;
}

/** Something that a run waits for a host to do. Whichever host answers first ends it. */
export interface HostCall {
  call_id: string;
  step: string;
  capability: string;
  input: Content<JsonValue>;
  expires_at: string;
}

/** Host calls of one task that can be open at once: they are part of its record. */
export const hostCallsMax = 32;

export interface TaskRecord extends Resource<"task"> {
  workspace_id: string;
  session_id: string;
  status: TaskStatus;
  status_at: string;
  input: TaskInput;
  created_by: string;
  /** Who asked for the work; for what a run handed over, whoever asked for its task; for a connector or schedule, who set it up. */
  submitter?: Submitter;
  persona_id: string;
  branch_id: string | null;
  parent_task_id: string | null;
  /** The step of the parent's run that waits for this task. */
  parent_step: string | null;
  assigned_agent_id: string | null;
  outcome: Outcome | null;
  started_at: string | null;
  completed_at: string | null;
  canceled_at: string | null;
  failure: Failure | null;
  agent: { name: string; version: string | null };
  /** Set for a replay: what is run again, and with which changes. */
  replay: ReplayPlan | null;
  /** Set for a retry: whose recorded steps it goes on from. */
  retry_of?: RetryOf;
  policy: TaskPolicy;
  /** The quotas that it counts against. */
  quota_ids: string[];
  /** Those among them beyond whose limits a person let it go. */
  granted_quota_ids: string[];
  /** Those whose limits it has come to. */
  exhausted_quota_ids: string[];
  pending: PendingRequest | null;
  parked: Parked | null;
  /** Absent until the first host call. */
  host_calls?: HostCall[];
  /** Work that remote agents have and have not ended. Absent until there is some. */
  handoff_ids?: string[];
  /** Signals that its code has not waited for yet, oldest first. Absent until there is one. */
  signals?: Signal[];
  /** Since when there is something to run. */
  runnable_since: string;
  /** What the client that submitted it calls the session, where that is not the session's id. */
  context_id?: string;
  /** The shell that started it, where one did. */
  shell?: TaskShell;
  /** The trace that it is part of. */
  trace?: TraceContext;
  /** Set when its events have left the log by age: this record is all that is left beside its receipt. */
  trimmed?: Trimmed & { trimmed_at: string };
}

/** What is true of every task that has just been accepted. */
export function unstarted(at: string) {
  return {
    status: "SUBMITTED",
    status_at: at,
    assigned_agent_id: null,
    outcome: null,
    started_at: null,
    completed_at: null,
    canceled_at: null,
    failure: null,
    pending: null,
    parked: null,
    granted_quota_ids: [] as string[],
    exhausted_quota_ids: [] as string[],
    runnable_since: at,
  } as const satisfies Partial<TaskRecord>;
}

/** What a step gave, as the journal keeps it. */
export type StepResult = { output: Content<JsonValue> } | { error: { code: string; message: string } };

export function foldTask(task: TaskRecord, event: KernelEvent): TaskRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "task.status_changed":
      return { ...task, status: event.payload.to, status_at: at, updated_at: at };
    case "task.started":
      return {
        ...task,
        started_at: at,
        agent: event.payload.agent,
        assigned_agent_id: `${event.payload.agent.name}@${event.payload.agent.version}`,
        updated_at: at,
      };
    case "task.input_required":
    case "task.auth_required":
      return { ...task, pending: event.payload.request, updated_at: at };
    case "user.input_submitted":
    case "user.tool_confirmation":
      return { ...task, pending: null, parked: null, runnable_since: at, updated_at: at };
    case "span.started":
      return withHandoff(withHostCall(task, event.payload, at), event.payload, at);
    case "span.updated":
      return event.payload.parked === undefined
        ? task
        : { ...task, parked: event.payload.parked, updated_at: at };
    case "span.completed":
      return afterStep(withoutSignal(task, event.payload.signal_id), event.payload, at);
    case "span.failed":
      return afterStep(task, event.payload, at);
    case "vendor.bridle.signal.received":
      return {
        ...task,
        signals: [...(task.signals ?? []), event.payload],
        parked: null,
        runnable_since: at,
        updated_at: at,
      };
    case "vendor.bridle.quota.exhausted":
      return {
        ...task,
        exhausted_quota_ids: [...task.exhausted_quota_ids, event.payload.quota_id],
        updated_at: at,
      };
    case "vendor.bridle.quota.granted":
      return {
        ...task,
        granted_quota_ids: [...task.granted_quota_ids, event.payload.quota_id],
        updated_at: at,
      };
    case "task.completed":
      return { ...atRest(task), outcome: event.payload.outcome, completed_at: at, updated_at: at };
    case "task.failed": {
      const { outcome, failure } = event.payload;
      return { ...atRest(task), outcome, failure, completed_at: at, updated_at: at };
    }
    case "task.canceled":
      return { ...atRest(task), outcome: event.payload.outcome, canceled_at: at, updated_at: at };
    default:
      return task;
  }
}

function withoutSignal(task: TaskRecord, id: string | undefined): TaskRecord {
  if (id === undefined) return task;
  return { ...task, signals: (task.signals ?? []).filter(({ signal_id }) => signal_id !== id) };
}

function withHostCall(
  task: TaskRecord,
  { step, name, host_call }: EventPayloads["span.started"],
  at: string,
): TaskRecord {
  if (host_call === undefined) return task;
  const { call_id, input, expires_at } = host_call;
  const call: HostCall = { call_id, step, capability: name, input, expires_at };
  return { ...task, host_calls: [...(task.host_calls ?? []), call], updated_at: at };
}

function withHandoff(task: TaskRecord, { handoff }: EventPayloads["span.started"], at: string): TaskRecord {
  const known = task.handoff_ids ?? [];
  if (handoff === undefined || known.includes(handoff.handoff_id)) return task;
  return { ...task, handoff_ids: [...known, handoff.handoff_id], updated_at: at };
}

/**
 * A result that came from outside the run (a child ended, a host or a remote agent answered) always changes the record, so that a run which is just being
 * dropped from memory cannot miss it. A result of the run itself changes it only if it had been waiting.
 */
function afterStep(
  task: TaskRecord,
  { step, kind, handoff }: StepSpan & Pick<EventPayloads["span.completed"], "handoff">,
  at: string,
): TaskRecord {
  const answersPending = task.pending?.step === step;
  const answersHostCall = task.host_calls?.some((call) => call.step === step) ?? false;
  if (task.parked === null && !answersPending && !answersHostCall && !outsideKinds.has(kind)) return task;
  return {
    ...task,
    pending: answersPending ? null : task.pending,
    ...(answersHostCall ? { host_calls: task.host_calls?.filter((call) => call.step !== step) ?? [] } : {}),
    ...(handoff?.is_over === true
      ? { handoff_ids: task.handoff_ids?.filter((id) => id !== handoff.handoff_id) ?? [] }
      : {}),
    parked: null,
    runnable_since: at,
    updated_at: at,
  };
}

const outsideKinds: ReadonlySet<StepSpan["kind"]> = new Set(["spawn", "handoff"]);

/** A task that has ended waits for nothing. */
function atRest(task: TaskRecord): TaskRecord {
  const { host_calls, handoff_ids, signals } = task;
  // Most tasks have none, and a copy of everything but some members takes several times as long.
  if (host_calls === undefined && handoff_ids === undefined && signals === undefined)
    return { ...task, pending: null, parked: null };
  const { host_calls: _, handoff_ids: __, signals: ___, ...rest } = task;
  return { ...rest, pending: null, parked: null };
}

/** What it is listed under: a task that its agent would not do is told from one that failed. */
export function listedStatus({ status, failure }: TaskRecord): TaskStatus | "REJECTED" {
  return status === "FAILED" && failure?.code === "rejected" ? "REJECTED" : status;
}

/** When somebody must look at the task next: at once if it can run, at its deadline if it waits, never when it ended. */
export function wakeAt(task: TaskRecord): number | null {
  if (isFinal(task.status)) return null;
  const { pending, parked } = task;
  if (pending === null && parked === null) return Date.parse(task.runnable_since);
  const times = [pending?.expires_at, parked?.until].flatMap((time) =>
    time == null ? [] : Date.parse(time),
  );
  return times.length === 0 ? null : Math.min(...times);
}

/** Tasks of earlier versions have none. */
export function submitterOf({ submitter, created_by }: TaskRecord): Submitter {
  return submitter ?? { actor: created_by };
}

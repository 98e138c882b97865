/** Tasks as the protocol shows them. */

import { unsealShown } from "../../kernel/core/content.ts";
import type { MessageRecord } from "../../kernel/kinds/message.ts";
import { outcomeIdOf } from "../../kernel/kinds/outcome.ts";
import { demandsHarp } from "../../kernel/kinds/persona.ts";
import type { ReplayPlan } from "../../kernel/kinds/replay.ts";
import type { RetryOf, TaskInput, TaskRecord } from "../../kernel/kinds/task.ts";
import { mayReadTask } from "../../kernel/tasks/read-tasks.ts";
import { ownStore, pick, presentMessage, type Viewer, type Wire } from "./present.ts";
import { Task } from "./schemas-task.ts";

/** Whoever began a task is answered with it; what else is in tasks is for those who may read them. */
export async function presentTask(task: TaskRecord, viewer: Viewer): Promise<Wire> {
  const shown = await shownTask(task, viewer);
  return mayReadTask(viewer.caller, task) ? shown : withoutContent(shown, task);
}

async function shownTask(task: TaskRecord, viewer: Viewer): Promise<Wire> {
  const { retry_of, outcome, quota_ids, replay } = task;
  return {
    ...pick(Task, task),
    ...(retry_of === undefined ? {} : { retry_of: presentRetry(retry_of) }),
    input: await presentInput(task.input, viewer),
    receipt_id: outcome?.receipt_id ?? null,
    outcome_id: outcome === null ? null : outcomeIdOf(task.id),
    quota_id: quota_ids[0] ?? null,
    replay: replay === null ? null : presentPlan(replay),
    waiting_for: waitingFor(task),
  };
}

const unread = "Reading this needs the scope tasks:read.";

function withoutContent(shown: Wire, { input, failure }: TaskRecord): Wire {
  const { waiting_for } = shown;
  return {
    ...shown,
    metadata: {},
    input: {
      redacted: true,
      ...("payload" in input ? { type: "json" } : { type: "message", id: input.message_id }),
    },
    failure: failure === null ? null : { code: failure.code, message: unread },
    waiting_for: waiting_for === null ? null : { ...Object(waiting_for), description: unread, schema: null },
  };
}

function presentRetry({ task_id, from_step }: RetryOf): Wire {
  return { task_id, from_step };
}

function presentPlan({ source_task_id, mode, checkpoint, allow_live, reason }: ReplayPlan): Wire {
  return { source_task_id, mode, checkpoint, allow_live, reason };
}

async function presentInput(input: TaskInput, viewer: Viewer): Promise<unknown> {
  if ("payload" in input) {
    const found = await unsealShown(input.payload, ownStore(viewer));
    return "erased" in found ? found.erased : found.value;
  }
  const document = await ownStore(viewer).get("message", input.message_id);
  // Messages leave the log by age; the record of their task stays.
  if (document === undefined) return { redacted: true, type: "message", id: input.message_id };
  return await presentMessage(document.body as MessageRecord, viewer);
}

function waitingFor({
  pending,
  parked,
  host_calls: hostCalls = [],
  handoff_ids: handoffIds = [],
  policy,
}: TaskRecord): Wire | null {
  if (pending !== null) {
    const isSigned = pending.kind === "approval" && demandsHarp(policy.approval_policy);
    return {
      kind: pending.kind,
      description: pending.prompt,
      permission_request_id: pending.permission_request_id,
      schema: pending.schema,
      until: pending.expires_at,
      ...(isSigned ? { signature_required: true } : {}),
    };
  }
  const [hostCall] = hostCalls;
  if (hostCall !== undefined) {
    return {
      kind: "host",
      description: parked?.reason ?? `waits for a host that can do ${hostCall.capability}`,
      permission_request_id: null,
      schema: null,
      until: parked?.until ?? hostCall.expires_at,
    };
  }
  if (parked === null) return null;
  return {
    kind: handoffIds.length > 0 ? "remote_agent" : "timer_or_child",
    description: parked.reason,
    permission_request_id: null,
    schema: null,
    until: parked.until,
  };
}

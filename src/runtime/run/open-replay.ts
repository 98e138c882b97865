/** Opens the replay of a task: with its source, what is substituted, and where an earlier attempt had come to. */

import { unseal } from "../../kernel/core/content.ts";
import {
  asRecorded,
  type EventKind,
  type KernelEvent,
  type RecordedEvent,
} from "../../kernel/core/events.ts";
import { readLog } from "../../kernel/core/log-tail.ts";
import type { ReplayPlan } from "../../kernel/kinds/replay.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { stepMark } from "../../kernel/tasks/steps.ts";
import type { TenantStore } from "../../store/port.ts";
import { Journal } from "./journal.ts";
import { kindOf, outputKinds, type ReplayOptions, ReplayRecording } from "./replay-recording.ts";
import { Run, type RunOptions } from "./run.ts";

export type Replay = Run<ReplayRecording>;

export async function openReplay(
  { kernel, world, isDraining }: Pick<RunOptions, "kernel" | "world" | "isDraining">,
  task: TaskRecord,
  plan: ReplayPlan,
  agentName: string,
): Promise<Replay> {
  const store = kernel.store.of(task.tenant_id);
  const document = await store.get("task", plan.source_task_id);
  if (document === undefined) throw new Error(`Task ${plan.source_task_id} is replayed but missing`);
  const options: ReplayOptions = {
    journal: await Journal.of(store, plan.source_task_id, isTold),
    source: document.body as TaskRecord,
    plan,
    substitutions: await unseal(plan.substitutions, store),
    secrets: kernel.replaySecrets.of(task.id),
    before: await readEmitted(store, task),
  };
  return new Run({
    kernel,
    ...(world === undefined ? {} : { world }),
    task,
    recording: (run) => new ReplayRecording(run, options),
    agentName,
    isDraining,
  });
}

async function readEmitted(
  store: TenantStore,
  { id: taskId, status }: TaskRecord,
): Promise<ReplayOptions["before"]> {
  const own = new Map<string, RecordedEvent>();
  let emitted = 0;
  if (status === "SUBMITTED") return { emitted, own };
  for await (const events of readLog(store, { taskId, after: 0 })) {
    for (const event of events.map(asRecorded)) {
      if (event.replay === undefined || (!event.replay.is_copy && beside.has(event.event))) continue;
      emitted += 1;
      const mark = event.replay.is_copy ? null : stepMark(event);
      if (mark !== null && !outputKinds.has(kindOf(mark.key))) own.set(mark.key, event);
    }
  }
  return { emitted, own };
}

/** Of what a live step emits, these are in the commit of its record. */
const beside: ReadonlySet<string> = new Set<EventKind>([
  "agent.memory_read",
  "agent.memory_write",
  "agent.tool_use",
  "agent.mcp_tool_use",
  "agent.tool_result",
  "tool.requested",
  "tool.completed",
  "tool.failed",
]);

const told: ReadonlySet<string> = new Set<EventKind>([
  "vendor.bridle.signal.received",
  "vendor.bridle.step.attempt_failed",
  "user.message",
  "agent.message",
  "vendor.bridle.message",
  "tool.approval_required",
  "tool.approved",
  "tool.denied",
  "artifact.created",
  "agent.handoff",
]);

/** What of the source's other events a replay tells again; its own life a replay lives itself. */
export function isTold({ event, payload }: KernelEvent): boolean {
  return told.has(event) || beside.has(event) || (event === "span.updated" && payload.given !== undefined);
}

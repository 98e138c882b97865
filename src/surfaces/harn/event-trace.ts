/** Where an event belongs in the trace of its task: the ids that traces which are exported have too. */

import { stepSpanId, taskSpanId, traceIdOf } from "../../kernel/core/trace.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { StoredEvent } from "../../store/port.ts";
import { ownStore, type Viewer } from "./present.ts";

export interface EventTrace {
  trace_id: string | null;
  span_id: string | null;
  parent_span_id: string | null;
}

const untraced: EventTrace = { trace_id: null, span_id: null, parent_span_id: null };
/** Tasks whose trace is remembered; it never changes, and a stream asks for it with every event. */
const rememberedMax = 5_000;
const remembered = new WeakMap<Kernel["store"], Map<string, string>>();

export async function traceOf({ taskId, payload }: StoredEvent, viewer: Viewer): Promise<EventTrace> {
  if (taskId === null) return untraced;
  const trace_id = await traceIdOfTask(taskId, payload, viewer);
  if (trace_id === null) return untraced;
  const ofTask = taskSpanId(taskId);
  const step = "step" in payload && typeof payload.step === "string" ? payload.step : null;
  if (step === null) return { trace_id, span_id: ofTask, parent_span_id: null };
  return { trace_id, span_id: stepSpanId(taskId, step), parent_span_id: ofTask };
}

async function traceIdOfTask(taskId: string, payload: object, viewer: Viewer): Promise<string | null> {
  const known = remembered.get(viewer.store) ?? new Map<string, string>();
  remembered.set(viewer.store, known);
  const before = known.get(taskId);
  if (before !== undefined) return before;
  const task = "task" in payload ? payload.task : (await ownStore(viewer).get("task", taskId))?.body;
  if (task === undefined) return null;
  const id = traceIdOf(task as Pick<TaskRecord, "id" | "trace">);
  if (known.size >= rememberedMax) known.clear();
  known.set(taskId, id);
  return id;
}

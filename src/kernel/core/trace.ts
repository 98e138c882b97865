/** W3C Trace Context: who follows work across systems finds ours in theirs. */

import { hash, randomBytes } from "node:crypto";

export interface TraceContext {
  traceparent: string;
  tracestate?: string;
}

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** What a header can hold, and no more than the standard has everybody pass on. */
const tracestatePattern = /^[\x20-\x7e]{1,512}$/;

/** What a caller sent, if it is well-formed; the standard has everything else ignored. */
export function readTrace(traceparent: string | undefined, tracestate?: string): TraceContext | null {
  const [, version, traceId = "", parentId = "", flags, more] = pattern.exec(traceparent ?? "") ?? [];
  if (version === undefined || version === "ff" || /^0+$/.test(traceId) || /^0+$/.test(parentId)) return null;
  if (version === "00" && more !== undefined) return null;
  const isUsable = tracestate !== undefined && tracestatePattern.test(tracestate);
  return { traceparent: `00-${traceId}-${parentId}-${flags}`, ...(isUsable ? { tracestate } : {}) };
}

/** The same trace, for a call of ours: it has a span of its own. */
export function continueTrace({ traceparent, tracestate }: TraceContext): TraceContext {
  const [version, traceId, , flags] = traceparent.split("-");
  const spanId = randomBytes(8).toString("hex");
  return {
    traceparent: `${version}-${traceId}-${spanId}-${flags}`,
    ...(tracestate === undefined ? {} : { tracestate }),
  };
}

/** Who exports traces says which ones are; nobody does unless the operator wants them. */
export interface Tracing {
  isSampled(traceId: string, parent: TraceContext | null): boolean;
}

interface Traced {
  id: string;
  trace?: TraceContext;
}

/**
 * Ids of spans follow from what is recorded, so that what is exported, what is sent to others, and what another process says of
 * the same task after a crash are about the same spans.
 */
export function taskSpanId(taskId: string): string {
  return hash("sha256", `task ${taskId}`, "hex").slice(0, 16);
}

export function stepSpanId(taskId: string, step: string): string {
  return hash("sha256", `step ${taskId} ${step}`, "hex").slice(0, 16);
}

/** Of the trace that the task came with, or of its own. */
export function traceIdOf({ id, trace }: Traced): string {
  return trace?.traceparent.split("-")[1] ?? hash("sha256", `trace ${id}`, "hex").slice(0, 32);
}

/** What others are told who do something for a step. Without a caller's trace there is one only if somebody exports it. */
export function traceOfStep(tracing: Tracing | null, task: Traced, step: string): TraceContext | null {
  return traceFrom(tracing, task, () => stepSpanId(task.id, step));
}

/** The same for what is about the task as a whole. */
export function traceOfTask(tracing: Tracing | null, task: Traced): TraceContext | null {
  return traceFrom(tracing, task, () => taskSpanId(task.id));
}

function traceFrom(tracing: Tracing | null, task: Traced, spanId: () => string): TraceContext | null {
  const { trace } = task;
  if (trace === undefined && tracing === null) return null;
  const traceId = traceIdOf(task);
  const given = trace?.traceparent.split("-")[3] ?? "00";
  const flags = tracing === null ? given : tracing.isSampled(traceId, trace ?? null) ? "01" : "00";
  return {
    traceparent: `00-${traceId}-${spanId()}-${flags}`,
    ...(trace?.tracestate === undefined ? {} : { tracestate: trace.tracestate }),
  };
}

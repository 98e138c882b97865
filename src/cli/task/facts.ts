/** What people are shown of an event of a task. Events of other kinds are skipped. */

import type { BridleEvent, EventPayloads, Message, TaskStatus } from "../../sdk/client/index.ts";
import { type Detail, detailsOfInput, detailsOfResult, readable } from "./details.ts";

/** What a model call used, and what it cost if somebody said what the model costs. */
export interface ModelUse {
  model: string | null;
  inputTokens: number;
  outputTokens: number;
  usd: number | null;
  attempts: number;
}

export interface Question {
  kind: "input" | "approval";
  step: string;
  prompt: string;
  schema: Record<string, unknown> | null;
  requestId: string | null;
  until: string | null;
}

export type Fact =
  | { kind: "submitted"; isReplay: boolean }
  | { kind: "started"; agent: string }
  | { kind: "said"; by: string; text: string }
  | { kind: "status"; to: TaskStatus; reason: string | null }
  | {
      kind: "step_begun";
      step: string;
      stepKind: string;
      name: string;
      until: string | null;
      details?: Detail[];
    }
  | {
      kind: "step_ended";
      step: string;
      stepKind: string;
      name: string;
      /** When its code began, where the log says so in the end. */
      begunAt: number | null;
      /** Null when it gave something. */
      error: string | null;
      /** It was not carried out, only told what it would have done. */
      isSimulated: boolean;
      use: ModelUse | null;
      details?: Detail[];
    }
  | {
      kind: "retried";
      name: string;
      attempt: number;
      error: string;
      retryAt: string | null;
      details?: Detail[];
    }
  | { kind: "delta"; step: string; attempt: number; index: number; isThought: boolean; text: string }
  | { kind: "progress"; message: string; percent: number | null }
  | { kind: "parked"; reason: string; until: string | null }
  | { kind: "question"; question: Question }
  | { kind: "answered" }
  | { kind: "asks_permission"; requestId: string; request: unknown }
  | { kind: "decided"; isApproved: boolean; decision: string; by: string | null; reason: string | null }
  | { kind: "artifact"; id: string; name: string }
  | { kind: "handed_off"; to: string }
  | { kind: "over_budget"; quotaId: string }
  | { kind: "cancel_requested"; by: string | null; reason: string | null }
  | { kind: "receipt"; id: string }
  | {
      kind: "ended";
      status: "COMPLETED" | "FAILED" | "CANCELED";
      summary: string;
      failure: { code: string; message: string } | null;
      reason: string | null;
    };

/** A fact with its time, in milliseconds. */
export type TimedFact = Fact & { at: number };

/** Null for events that people are not shown. */
export function factIn(event: BridleEvent): TimedFact | null {
  const fact = stepFact(event) ?? taskFact(event);
  return fact === null ? null : { ...fact, at: Date.parse(event.created_at) };
}

function stepFact(event: BridleEvent): Fact | null {
  switch (event.event) {
    case "span.started":
      return stepBegun(event.payload);
    case "span.updated":
      return updated(event.payload);
    case "span.completed":
    case "span.failed":
      return stepEnded(event.payload);
    case "vendor.bridle.step.attempt_failed": {
      const { name, attempt, error, retry_at, stack } = event.payload;
      const details = readable("thrown at", stack);
      return { kind: "retried", name, attempt, error: error.message, retryAt: retry_at, details };
    }
    default:
      return null;
  }
}

function taskFact(event: BridleEvent): Fact | null {
  switch (event.event) {
    case "task.submitted":
      return { kind: "submitted", isReplay: event.payload.task.replay !== null };
    case "task.started": {
      const { name, version } = event.payload.agent;
      return { kind: "started", agent: `${name}@${version}` };
    }
    case "user.message":
    case "agent.message":
      return said(event.payload.message);
    case "task.status_changed":
      return { kind: "status", to: event.payload.to, reason: event.payload.reason };
    case "task.input_required":
    case "task.auth_required":
      return { kind: "question", question: questionIn(event.payload) };
    case "user.input_submitted":
      return { kind: "answered" };
    case "tool.approval_required": {
      const { id, request } = event.payload.permission_request;
      return { kind: "asks_permission", requestId: id, request };
    }
    case "tool.approved":
    case "tool.denied": {
      const { approved, decision, reviewer, decided_by, reason } = event.payload.response;
      return { kind: "decided", isApproved: approved, decision, by: reviewer ?? decided_by, reason };
    }
    case "artifact.created": {
      const { id, name } = event.payload.artifact;
      return { kind: "artifact", id, name: name ?? id };
    }
    case "agent.handoff":
      return { kind: "handed_off", to: event.payload.url ?? event.payload.persona_id ?? "" };
    case "vendor.bridle.quota.exhausted":
      return { kind: "over_budget", quotaId: event.payload.quota_id };
    case "user.cancel_requested":
      return { kind: "cancel_requested", by: event.actor, reason: event.payload.reason };
    case "receipt.issued": {
      const { receipt_id, subject } = event.payload;
      return subject.object === "task" ? { kind: "receipt", id: receipt_id } : null;
    }
    case "task.completed":
      return { ...ended, status: "COMPLETED", summary: event.payload.outcome.summary };
    case "task.failed": {
      const { outcome, failure } = event.payload;
      return { ...ended, status: "FAILED", summary: outcome.summary, failure };
    }
    case "task.canceled": {
      const { outcome, reason } = event.payload;
      return { ...ended, status: "CANCELED", summary: outcome.summary, reason };
    }
    default:
      return null;
  }
}

const ended = { kind: "ended", failure: null, reason: null } as const;

function said({ role, parts }: Message): Fact {
  return { kind: "said", by: role === "assistant" ? "agent" : role, text: parts.map(partText).join("\n") };
}

/** A part as people read it. A part that the key may not read is named. */
export function partText(part: Message["parts"][number]): string {
  if ("redacted" in part) return `[${part.type}, not for this key]`;
  switch (part.type) {
    case "text":
      return part.text;
    case "json":
      return JSON.stringify(part.value);
    case "tool_call":
      return `[tool_call ${part.name}]`;
    case "file_ref":
      return `[file_ref ${part.uri}]`;
    case "artifact_ref":
    case "image_ref":
      return `[${part.type} ${part.artifact_id}]`;
    default:
      return `[${part.type}]`;
  }
}

function stepBegun(payload: EventPayloads["span.started"]): Fact {
  const { step, kind, name, until, handoff, host_call } = payload;
  const deadline = until ?? handoff?.expires_at ?? host_call?.expires_at ?? null;
  const details = detailsOfInput(payload);
  return { kind: "step_begun", step, stepKind: kind, name, until: deadline, details };
}

function stepEnded(payload: EventPayloads["span.completed"]): Fact {
  const { step, kind, name, result, model_call, simulated, started_at } = payload;
  return {
    kind: "step_ended",
    step,
    stepKind: kind,
    name,
    begunAt: started_at === undefined ? null : Date.parse(started_at),
    error: "error" in result ? result.error.message || "It failed." : null,
    isSimulated: simulated !== undefined,
    use: model_call === undefined ? null : useOf(model_call),
    details: [...detailsOfInput(payload), ...detailsOfResult(payload)],
  };
}

function useOf({ chosen, usage, usd, attempts }: NonNullable<EventPayloads["span.completed"]["model_call"]>) {
  const model = chosen === null ? null : `${chosen.provider}/${chosen.model}`;
  return { model, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, usd, attempts };
}

function updated({ message, percent, delta, parked }: EventPayloads["span.updated"]): Fact | null {
  if (delta !== undefined) {
    const { step, attempt, index, type, text } = delta;
    if (typeof text !== "string") return null;
    return { kind: "delta", step, attempt, index, isThought: type === "reasoning", text };
  }
  if (parked !== undefined) return { kind: "parked", ...parked };
  return message === undefined ? null : { kind: "progress", message, percent: percent ?? null };
}

function questionIn({ request }: EventPayloads["task.input_required"]): Question {
  const { kind, step, prompt, schema, permission_request_id, expires_at } = request;
  return { kind, step, prompt, schema, requestId: permission_request_id, until: expires_at };
}

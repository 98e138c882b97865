/** What an event of a task says, as far as people look at it. Others than these are passed over. */

import { taskTransitions } from "../../kernel/tasks/lifecycle.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import type { BridleEvent, TaskStatus } from "../../sdk/client/index.ts";
import { cameOf, type Detail, givenTo } from "./details.ts";

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

type Payload = Record<string, unknown>;

const readers: Readonly<Record<string, (payload: Payload, event: BridleEvent) => Fact | null>> = {
  "task.submitted": ({ task }) => ({ kind: "submitted", isReplay: recordIn(task).replay != null }),
  "task.started"({ agent }) {
    const { name, version } = recordIn(agent);
    return { kind: "started", agent: `${textIn(name)}@${textIn(version)}` };
  },
  "user.message": ({ message }) => said(message),
  "agent.message": ({ message }) => said(message),
  "task.status_changed": ({ to, reason }) =>
    isStatus(to) ? { kind: "status", to, reason: textOrNull(reason) } : null,
  "span.started": ({ step, kind, name, until, handoff, host_call, ...call }) => ({
    kind: "step_begun",
    step: textIn(step),
    stepKind: textIn(kind),
    name: textIn(name),
    until: textOrNull(until ?? recordIn(handoff ?? host_call).expires_at),
    details: givenTo({ ...call, host_call }),
  }),
  "span.completed": (payload) => stepEnded(payload),
  "span.failed": (payload) => stepEnded(payload),
  "span.updated": (payload) => updated(payload),
  "vendor.bridle.step.attempt_failed": ({ name, attempt, error, retry_at, stack }) => ({
    kind: "retried",
    name: textIn(name),
    attempt: numberIn(attempt) ?? 0,
    error: textIn(recordIn(error).message),
    retryAt: textOrNull(retry_at),
    details: cameOf({ stack }),
  }),
  "task.input_required": ({ request }) => ({ kind: "question", question: questionIn(request) }),
  "task.auth_required": ({ request }) => ({ kind: "question", question: questionIn(request) }),
  "user.input_submitted": () => ({ kind: "answered" }),
  "tool.approval_required"({ permission_request }) {
    const { id, request } = recordIn(permission_request);
    return { kind: "asks_permission", requestId: textIn(id), request };
  },
  "tool.approved": ({ response }) => decided(response),
  "tool.denied": ({ response }) => decided(response),
  "artifact.created"({ artifact }) {
    const { id, name } = recordIn(artifact);
    return { kind: "artifact", id: textIn(id), name: textOrNull(name) ?? textIn(id) };
  },
  "agent.handoff": ({ persona_id, url }) => ({ kind: "handed_off", to: textIn(url ?? persona_id) }),
  "vendor.bridle.quota.exhausted": ({ quota_id }, { resource }) => ({
    kind: "over_budget",
    quotaId: textOrNull(quota_id) ?? resource.id,
  }),
  "user.cancel_requested": ({ reason }, { actor }) => ({
    kind: "cancel_requested",
    by: actor,
    reason: textOrNull(reason),
  }),
  "receipt.issued"({ receipt_id, subject }) {
    return recordIn(subject).object === "task" ? { kind: "receipt", id: textIn(receipt_id) } : null;
  },
  "task.completed": (payload) => ended("COMPLETED", payload),
  "task.failed": (payload) => ended("FAILED", payload),
  "task.canceled": (payload) => ended("CANCELED", payload),
};

/** Null for what nobody looks at. */
export function factIn(event: BridleEvent): TimedFact | null {
  const fact = Object.hasOwn(readers, event.event)
    ? (readers[event.event]?.(event.payload, event) ?? null)
    : null;
  return fact === null ? null : { ...fact, at: Date.parse(event.created_at) };
}

function said(message: unknown): Fact {
  const { role, parts } = recordIn(message);
  const texts = Array.isArray(parts) ? parts.map(partText) : [];
  const by = textIn(role);
  return { kind: "said", by: by === "assistant" ? "agent" : by, text: texts.join("\n") };
}

/** A part as people read it; what the caller may not see is said to be there. */
export function partText(part: unknown): string {
  const { type, text, value, redacted, name, artifact_id, uri } = recordIn(part);
  if (redacted === true) return `[${textIn(type)}, not for this key]`;
  if (type === "text") return textIn(text);
  if (type === "json") return JSON.stringify(value);
  return `[${[type, name, artifact_id ?? uri].filter((word) => typeof word === "string").join(" ")}]`;
}

function stepEnded(payload: Payload): Fact {
  const { step, kind, name, result, model_call, simulated, started_at } = payload;
  const { error } = recordIn(result);
  const begunAt = Date.parse(textOrNull(started_at) ?? "");
  return {
    kind: "step_ended",
    step: textIn(step),
    stepKind: textIn(kind),
    name: textIn(name),
    begunAt: Number.isNaN(begunAt) ? null : begunAt,
    error: error == null ? null : textIn(recordIn(error).message) || "It failed.",
    isSimulated: simulated != null,
    use: model_call == null ? null : useIn(model_call),
    details: [...givenTo({ tool_call: payload.tool_call }), ...cameOf(payload)],
  };
}

function useIn(call: unknown): ModelUse {
  const { chosen, usage, usd, attempts } = recordIn(call);
  const { provider, model } = recordIn(chosen);
  const { input_tokens, output_tokens } = recordIn(usage);
  return {
    model: typeof model === "string" ? `${textIn(provider)}/${model}` : null,
    inputTokens: numberIn(input_tokens) ?? 0,
    outputTokens: numberIn(output_tokens) ?? 0,
    usd: numberIn(usd),
    attempts: numberIn(attempts) ?? 1,
  };
}

function updated({ message, percent, delta, parked }: Payload): Fact | null {
  if (isRecord(delta)) {
    const { step, attempt, index, type, text } = delta;
    // Those who may not see it are told that there is something.
    if (typeof text !== "string") return null;
    const place = { step: textIn(step), attempt: numberIn(attempt) ?? 0, index: numberIn(index) ?? 0 };
    return { kind: "delta", ...place, isThought: type === "reasoning", text };
  }
  if (isRecord(parked)) {
    return { kind: "parked", reason: textIn(parked.reason), until: textOrNull(parked.until) };
  }
  return typeof message === "string" ? { kind: "progress", message, percent: numberIn(percent) } : null;
}

function questionIn(request: unknown): Question {
  const { kind, step, prompt, schema, permission_request_id, expires_at } = recordIn(request);
  return {
    kind: kind === "approval" ? "approval" : "input",
    step: textIn(step),
    prompt: textIn(prompt),
    schema: isRecord(schema) ? schema : null,
    requestId: textOrNull(permission_request_id),
    until: textOrNull(expires_at),
  };
}

function decided(response: unknown): Fact {
  const { approved, decision, reviewer, decided_by, reason } = recordIn(response);
  return {
    kind: "decided",
    isApproved: approved === true,
    decision: textIn(decision),
    by: textOrNull(reviewer ?? decided_by),
    reason: textOrNull(reason),
  };
}

function ended(status: "COMPLETED" | "FAILED" | "CANCELED", { outcome, failure, reason }: Payload): Fact {
  const { code, message } = recordIn(failure);
  return {
    kind: "ended",
    status,
    summary: textIn(recordIn(outcome).summary),
    failure: failure == null ? null : { code: textIn(code), message: textIn(message) },
    reason: textOrNull(reason),
  };
}

function isStatus(value: unknown): value is TaskStatus {
  return typeof value === "string" && Object.hasOwn(taskTransitions, value);
}

/** Nothing is taken for granted about a payload: what is missing is empty. */
function recordIn(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function numberIn(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

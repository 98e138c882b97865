/** Putting a given value in the place of a recorded one: the event that the log would have had. */

import { hashOf } from "../../receipts/canonical.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { type BlobSource, unseal } from "../core/content.ts";
import type { KernelEvent, StepSpan } from "../core/events.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import { resultHash } from "../receipts/facts.ts";

/** The ending of a step as it would have been recorded with this value. `base` is what the log has of the step. */
export function substituted(key: string, value: JsonValue, base: KernelEvent): KernelEvent {
  const { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource } = base;
  const at = { tenantId, workspaceId, sessionId, taskId, actor, createdAt, resource };
  if (key.startsWith("ask:")) {
    // The message is not in the store; whoever reads it is given the value itself.
    const payload = { step: key, message_id: `override:${key}`, answer: value };
    return { ...at, event: "user.input_submitted", payload };
  }
  if (key.startsWith("approve:")) {
    const { approved, reason } = asObject(value);
    const decision = { approved: approved === true, reason: typeof reason === "string" ? reason : null };
    return {
      ...at,
      event: "user.tool_confirmation",
      payload: { step: key, request_id: `override:${key}`, ...decision },
    };
  }
  const span = spanOf(key, base);
  return { ...at, event: "span.completed", payload: { ...span, result: { output: { inline: value } } } };
}

function spanOf(key: string, base: KernelEvent): StepSpan {
  if (base.event !== "span.completed" && base.event !== "span.failed" && base.event !== "span.started") {
    throw new Error(`Step ${key} has no span to be substituted in`);
  }
  const { step, kind, name } = base.payload;
  return { step, kind, name };
}

export function asObject(value: JsonValue): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** The hash of what a step gave, as canonical JSON; null for what begins a step. */
export async function recordedHash(event: KernelEvent, store: BlobSource): Promise<string | null> {
  switch (event.event) {
    case "span.completed":
    case "span.failed": {
      const { result } = event.payload;
      if ("error" in result) return resultHash(result);
      return hashWellFormed(await unseal(result.output, store), hashOf);
    }
    case "user.input_submitted":
    case "user.tool_confirmation":
      return hashWellFormed(event.payload, hashOf);
    default:
      return null;
  }
}

/**
 * What a run does, as directives for its shell (§10–§12), in a form that the shell said it can show: without rich cards
 * as text, without an approval dialog as a sentence that says where to give it.
 */

import type { ArtifactRecord } from "../../../kernel/kinds/artifact.ts";
import type { Part } from "../../../kernel/kinds/message.ts";
import type { PermissionRequestRecord } from "../../../kernel/kinds/permission-request.ts";
import type { PendingRequest } from "../../../kernel/kinds/task.ts";
import { approvalHashOf } from "../../../kernel/openharness/approvals.ts";
import type { JsonObject, JsonValue } from "../../../store/port.ts";
import { capability } from "../capabilities.ts";
import { type ActionDirective, extensionKey } from "../wire.ts";

/** What the shell can show. */
export type Granted = ReadonlySet<string>;

/** What a directive is to the shell: something to read, to do, to answer, to decide, or only a sign of life. */
export type DirectiveKind = "message" | "action" | "question" | "approval" | "status";

interface Identified {
  id: string;
  kind: DirectiveKind;
  more?: JsonObject;
}

const coreTypes: ReadonlySet<string> = new Set([
  "render_ui",
  "simulate_action",
  "render_message",
  "request_approval",
  "noop",
]);
const progressType = "com.bridle.progress";

/** Every directive says which one it is, so that one that is told twice is done once. */
function identified(directive: ActionDirective, { id, kind, more = {} }: Identified): ActionDirective {
  const own = { directive_id: id, kind, ...more };
  return { ...directive, extensions: { ...directive.extensions, [extensionKey]: own } };
}

function messageWith(text: string, more: JsonObject = {}): ActionDirective {
  return { action_type: "render_message", payload: { text, message: text, ...more } };
}

/** What the agent says. Null when nothing in it is for the person. */
export function messageDirective(id: string, parts: readonly Part[]): ActionDirective | null {
  const shown = parts.filter(({ visibility }) => visibility === "public");
  if (shown.length === 0) return null;
  const texts = shown.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const data = shown.flatMap((part) => (part.type === "json" ? [part.value] : []));
  const attachments = shown.flatMap(referenceOf);
  const [only] = data;
  const text = texts.length > 0 ? texts.join("\n") : only === undefined ? "" : JSON.stringify(only);
  return identified(
    messageWith(text, {
      ...(only === undefined ? {} : { data: data.length === 1 ? only : data }),
      ...(attachments.length === 0 ? {} : { attachments }),
    }),
    { id, kind: "message" },
  );
}

function referenceOf(part: Part): JsonObject[] {
  switch (part.type) {
    case "artifact_ref":
      return [{ ref_id: part.artifact_id }];
    case "image_ref":
      return [{ ref_id: part.artifact_id, mime_type: part.mime_type }];
    case "file_ref":
      return [{ uri: part.uri, mime_type: part.mime_type }];
    default:
      return [];
  }
}

/** What the agent has made, as a reference: its content is had from the Harn API. */
export function artifactDirective(artifact: ArtifactRecord): ActionDirective {
  const { id, name, mime_type, bytes } = artifact;
  const reference = {
    ref_id: id,
    ...(name === null ? {} : { filename: name }),
    mime_type,
    ...(bytes === null ? {} : { size_bytes: bytes }),
  };
  return identified(messageWith(name ?? id, { attachments: [reference] }), { id, kind: "message" });
}

/** What the agent tells the shell to show or to do, as far as this shell can. */
export function givenDirective(
  { id, kind, more }: Identified,
  given: JsonObject,
  granted: Granted,
): ActionDirective {
  // It was checked when the agent gave it.
  const directive = { ...given } as ActionDirective;
  if (!granted.has(capability.parallel) && directive.execution === "parallel") {
    directive.execution = "sequential";
  }
  const described = { id, kind, ...(more === undefined ? {} : { more }) };
  if (directive.action_type !== "render_ui" || granted.has(capability.richCards)) {
    return identified(withFallback(directive), described);
  }
  const { payload: _, ...terms } = directive;
  return identified({ ...terms, ...messageWith(textFor(directive)) }, described);
}

/** Shells show this in place of a type that they do not know (§11). */
function withFallback(directive: ActionDirective): ActionDirective {
  const { action_type: type, payload = {} } = directive;
  if (coreTypes.has(type) || typeof payload.fallback_message === "string") return directive;
  const { message } = payload;
  const fallback_message = typeof message === "string" ? message : `This shell cannot do ${type}.`;
  return { ...directive, payload: { ...payload, fallback_message } };
}

/** The words of something that was made to be drawn. */
function textFor({ payload = {} }: ActionDirective): string {
  const words = [payload.fallback_message, payload.message, payload.text, payload.title];
  const found = words.find((text) => typeof text === "string" && text !== "");
  if (typeof found === "string") return found;
  const { component } = payload;
  return typeof component === "string" ? `(${component})` : "(a card)";
}

export function questionDirective(
  id: string,
  { prompt, schema, expires_at }: PendingRequest,
): ActionDirective {
  const more = { expires_at, ...(schema === null ? {} : { schema }) };
  return identified(messageWith(prompt), { id, kind: "question", more });
}

const riskTiers: Readonly<Record<string, NonNullable<ActionDirective["risk_tier"]>>> = {
  low: "safe",
  medium: "caution",
  high: "dangerous",
  dangerous: "dangerous",
};

/** Whether the shell can answer it; otherwise somebody else does, and the shell can only say so. */
export function isAnswerable(granted: Granted, needsHarp: boolean): boolean {
  return granted.has(capability.approval) && !needsHarp;
}

export function approvalDirective(
  request: PermissionRequestRecord,
  granted: Granted,
  needsHarp: boolean,
): ActionDirective {
  const { id, action, expires_at } = request;
  const summary = typeof action === "string" ? action : JSON.stringify(action);
  const described: Identified = { id, kind: "approval", more: { expires_at } };
  if (!granted.has(capability.approval)) {
    const where = needsHarp ? "on your approver's device" : "where you answer approvals";
    return identified(messageWith(`Approval is needed: ${summary}. Give it ${where}.`), described);
  }
  const { payload: details = null, risk = "medium" } = request.request;
  return identified(
    {
      action_type: "request_approval",
      requires_user_approval: true,
      risk_tier: riskTiers[String(risk)] ?? "dangerous",
      payload: {
        message: needsHarp ? `${summary} (approve it on your approver's device)` : summary,
        summary,
        request_id: id,
        artifact_hash: approvalHashOf(request),
        action,
        details,
        risk,
        expires_at,
        via: needsHarp ? "harp" : "shell",
      },
    },
    described,
  );
}

export interface Progress {
  message: string;
  percent?: number;
}

/** How far the work is, and that there is nothing to do but to come back. */
export function workingDirectives(turnId: string, progress: Progress | null): ActionDirective[] {
  const payload: JsonObject = { message: "The work goes on.", retry_after_ms: 0 };
  const noop = identified({ action_type: "noop", payload }, { id: `${turnId}:working`, kind: "status" });
  if (progress === null) return [noop];
  const said = { action_type: progressType, payload: progressPayload(progress) };
  return [identified(said, { id: `${turnId}:progress`, kind: "status" }), noop];
}

function progressPayload({ message, percent }: Progress): Record<string, JsonValue> {
  return { message, ...(percent === undefined ? {} : { percent }), fallback_message: message };
}

/** Between the words of a remote agent and ours: parts both ways, and what a task of its has come to. */

import {
  type Artifact,
  type Message,
  type Part as RemotePart,
  Role,
  type Task,
  type TaskStatus,
  taskStateToJSON,
} from "@a2a-js/sdk";
import { delegationUri } from "../../kernel/core/extension-uris.ts";
import type { Delegation, RemoteReceipt } from "../../kernel/kinds/handoff.ts";
import { type Part, textOf, textPart } from "../../kernel/kinds/message.ts";
import type { JsonValue } from "../../store/port.ts";
import type { HandoffArtifact, HandoffResult } from "../agents/agent.ts";

const summaryCharsMax = 280;
/** A question is shown to a person, and is part of the task's record. */
const promptCharsMax = 4000;

const statuses: Record<string, HandoffResult["status"]> = {
  COMPLETED: "SUCCEEDED",
  FAILED: "FAILED",
  CANCELED: "CANCELED",
  REJECTED: "REJECTED",
};

/** The state without its prefix: `WORKING`. */
export function stateOf(status: TaskStatus | undefined): string {
  return taskStateToJSON(status?.state ?? 0).replace(/^TASK_STATE_/, "");
}

export function isOver(state: string): boolean {
  return Object.hasOwn(statuses, state);
}

export function isInterrupted(state: string): state is "INPUT_REQUIRED" | "AUTH_REQUIRED" {
  return state === "INPUT_REQUIRED" || state === "AUTH_REQUIRED";
}

/** The same for the same interruption, another one for the next; null where the remote does not let them be told apart. */
export function markOf(status: TaskStatus | undefined): string | null {
  const { timestamp = "", message } = status ?? {};
  const name = [timestamp, message?.messageId ?? ""].filter((text) => text !== "").join(" ");
  return name === "" ? null : `${stateOf(status)} ${name}`;
}

export function promptOf(status: TaskStatus | undefined): string {
  const text = textOf(partsFrom(status?.message?.parts ?? []));
  if (text !== "") return text.slice(0, promptCharsMax);
  return stateOf(status) === "AUTH_REQUIRED"
    ? "The remote agent needs an authorization, and does not say which."
    : "The remote agent needs input, and does not say which.";
}

export function resultOfTask(task: Task): HandoffResult {
  const state = stateOf(task.status);
  const artifacts = (task.artifacts ?? []).map(artifactFrom);
  const output = outputOf(task, artifacts);
  const receipt = receiptIn(task);
  return {
    task_id: task.id,
    context_id: task.contextId || null,
    status: statuses[state] ?? "FAILED",
    summary: summaryOf(task.status?.message, output, state),
    output,
    artifacts,
    ...(receipt === undefined ? {} : { receipt }),
  };
}

/** A remote may answer at once, without making a task of it. */
export function resultOfMessage(message: Message): HandoffResult {
  const output = contentOfParts(partsFrom(message.parts));
  return {
    task_id: null,
    context_id: message.contextId || null,
    status: "SUCCEEDED",
    summary: summaryOf(message, output, "COMPLETED"),
    output,
    artifacts: [],
  };
}

function summaryOf(said: Message | undefined, output: JsonValue, state: string): string {
  const text = textOf(partsFrom(said?.parts ?? [])) || (typeof output === "string" ? output : "");
  const summary = text === "" ? `The remote task is ${state}.` : text;
  return summary.length <= summaryCharsMax ? summary : `${summary.slice(0, summaryCharsMax - 1)}…`;
}

/** The artifact that is called the result; else what was said last; else the last artifact. */
function outputOf({ status, history }: Task, artifacts: readonly HandoffArtifact[]): JsonValue {
  const named = artifacts.findLast(({ artifact_id, name }) => artifact_id === "result" || name === "result");
  if (named !== undefined) return contentOfParts(named.parts);
  const lastSaid = (history ?? []).findLast(({ role }) => role === Role.ROLE_AGENT);
  const said = status?.message ?? (artifacts.length === 0 ? lastSaid : undefined);
  if (said !== undefined) return contentOfParts(partsFrom(said.parts));
  return contentOfParts(artifacts.at(-1)?.parts ?? []);
}

/** JSON where there is only that, text where there is some. */
function contentOfParts(parts: readonly Part[]): JsonValue {
  const text = textOf(parts);
  if (text !== "") return text;
  const values = parts.flatMap((part) => (part.type === "json" ? [part.value] : []));
  return values.length > 1 ? values : (values[0] ?? null);
}

function artifactFrom({ artifactId, name, parts }: Artifact): HandoffArtifact {
  return { artifact_id: artifactId, name: name || artifactId, parts: partsFrom(parts) };
}

function partsFrom(parts: readonly RemotePart[]): Part[] {
  return parts.flatMap(({ content, mediaType }): Part[] => {
    switch (content?.$case) {
      case "text":
        return [textPart(content.value)];
      case "data":
        return [{ type: "json", value: content.value ?? null, visibility: "public" }];
      case "url":
        return [fileRef(content.value, mediaType)];
      case "raw": {
        const type = mediaType || "application/octet-stream";
        return [fileRef(`data:${type};base64,${Buffer.from(content.value).toString("base64")}`, type)];
      }
      default:
        return [];
    }
  });
}

function fileRef(uri: string, mediaType: string): Part {
  return { type: "file_ref", uri, mime_type: mediaType || "application/octet-stream", visibility: "public" };
}

function remoteParts(parts: readonly Part[]): RemotePart[] {
  return parts.map((part) => ({
    content: contentOf(part),
    metadata: undefined,
    filename: "",
    mediaType: mediaTypeOf(part),
  }));
}

function contentOf(part: Part): NonNullable<RemotePart["content"]> {
  switch (part.type) {
    case "text":
      return { $case: "text", value: part.text };
    case "json":
      return { $case: "data", value: part.value };
    case "file_ref": {
      const inline = /^data:[^,]*;base64,(.*)$/s.exec(part.uri)?.[1];
      if (inline !== undefined) return { $case: "raw", value: Buffer.from(inline, "base64") };
      return { $case: "url", value: part.uri };
    }
    default:
      // An answer may hold what only this server can read; it is said as the JSON that it is.
      return { $case: "data", value: part };
  }
}

function mediaTypeOf(part: Part): string {
  return part.type === "file_ref" ? part.mime_type : "";
}

export interface NewMessage {
  messageId: string;
  taskId: string | null;
  contextId: string | null;
  parts: readonly Part[];
  delegation: Delegation;
  extensions: string[];
}

export function remoteMessage({
  messageId,
  taskId,
  contextId,
  parts,
  delegation,
  extensions,
}: NewMessage): Message {
  return {
    messageId,
    contextId: contextId ?? "",
    taskId: taskId ?? "",
    role: Role.ROLE_USER,
    parts: remoteParts(parts),
    metadata: { [delegationUri]: delegation },
    extensions,
    referenceTaskIds: [],
  };
}

const hashPattern = /^sha256:[0-9a-f]{64}$/;
const receiptIdCharsMax = 200;

/** What the remote says of its own receipt, if that is what it looks like. */
function receiptIn({ metadata }: Task): RemoteReceipt | undefined {
  const said: unknown = metadata?.[delegationUri];
  if (typeof said !== "object" || said === null || !("receipt_id" in said) || !("receipt_hash" in said))
    return undefined;
  const { receipt_id, receipt_hash } = said;
  if (typeof receipt_id !== "string" || receipt_id === "" || receipt_id.length > receiptIdCharsMax)
    return undefined;
  if (typeof receipt_hash !== "string" || !hashPattern.test(receipt_hash)) return undefined;
  return { receipt_id, receipt_hash };
}

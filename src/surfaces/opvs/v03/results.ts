/**
 * What clients of 0.3 are told over JSON-RPC and by webhooks, from the JSON of 1.0 to the form in which objects say their
 * `kind`. What is empty is left out.
 */

import type { JsonObject } from "@bufbuild/protobuf";
import type {
  ArtifactJson,
  MessageJson,
  PartJson,
  SendMessageResponseJson,
  StreamResponseJson,
  TaskArtifactUpdateEventJson,
  TaskJson,
  TaskPushNotificationConfigJson,
  TaskStateJson,
  TaskStatusJson,
  TaskStatusUpdateEventJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { defined, filled, isObject } from "./fields.ts";
import { wrappedFlag } from "./requests.ts";

interface V03State {
  name: string;
  /** Whether nothing comes after it. */
  isFinal: boolean;
}

const states: Readonly<Record<TaskStateJson, V03State>> = {
  TASK_STATE_UNSPECIFIED: { name: "unknown", isFinal: false },
  TASK_STATE_SUBMITTED: { name: "submitted", isFinal: false },
  TASK_STATE_WORKING: { name: "working", isFinal: false },
  TASK_STATE_COMPLETED: { name: "completed", isFinal: true },
  TASK_STATE_FAILED: { name: "failed", isFinal: true },
  TASK_STATE_CANCELED: { name: "canceled", isFinal: true },
  TASK_STATE_INPUT_REQUIRED: { name: "input-required", isFinal: false },
  TASK_STATE_REJECTED: { name: "rejected", isFinal: true },
  TASK_STATE_AUTH_REQUIRED: { name: "auth-required", isFinal: false },
};

function stateOf({ state = "TASK_STATE_UNSPECIFIED" }: TaskStatusJson): V03State {
  return states[state];
}

/** An answer, an event of a stream or the body of a webhook: the object itself, in nothing. */
export function showEvent(event: StreamResponseJson | SendMessageResponseJson): JsonObject {
  const { task, message, statusUpdate, artifactUpdate }: StreamResponseJson = event;
  if (task !== undefined) return showTask(task);
  if (message !== undefined) return showMessage(message);
  if (statusUpdate !== undefined) return showStatusUpdate(statusUpdate);
  if (artifactUpdate !== undefined) return showArtifactUpdate(artifactUpdate);
  throw new Error("An event without a payload cannot be shown.");
}

export function showTask(task: TaskJson): JsonObject {
  return defined({
    kind: "task",
    id: task.id,
    contextId: task.contextId,
    status: showStatus(task.status ?? {}),
    artifacts: filled((task.artifacts ?? []).map(showArtifact)),
    history: filled((task.history ?? []).map(showMessage)),
    metadata: filled(task.metadata),
  });
}

function showStatus(status: TaskStatusJson): JsonObject {
  return defined({
    state: stateOf(status).name,
    message: status.message === undefined ? undefined : showMessage(status.message),
    timestamp: status.timestamp,
  });
}

export function showMessage(message: MessageJson): JsonObject {
  return defined({
    kind: "message",
    messageId: message.messageId,
    contextId: filled(message.contextId),
    taskId: filled(message.taskId),
    role: message.role === "ROLE_USER" ? "user" : "agent",
    parts: (message.parts ?? []).map(showPart),
    metadata: filled(message.metadata),
    extensions: filled(message.extensions),
    referenceTaskIds: filled(message.referenceTaskIds),
  });
}

function showArtifact(artifact: ArtifactJson): JsonObject {
  return defined({
    artifactId: artifact.artifactId,
    name: filled(artifact.name),
    description: filled(artifact.description),
    parts: (artifact.parts ?? []).map(showPart),
    metadata: filled(artifact.metadata),
    extensions: filled(artifact.extensions),
  });
}

function showStatusUpdate(update: TaskStatusUpdateEventJson): JsonObject {
  const { status = {} } = update;
  return defined({
    kind: "status-update",
    taskId: update.taskId,
    contextId: update.contextId,
    status: showStatus(status),
    final: stateOf(status).isFinal,
    metadata: filled(update.metadata),
  });
}

function showArtifactUpdate(update: TaskArtifactUpdateEventJson): JsonObject {
  return defined({
    kind: "artifact-update",
    taskId: update.taskId,
    contextId: update.contextId,
    artifact: showArtifact(update.artifact ?? {}),
    append: update.append,
    lastChunk: update.lastChunk,
    metadata: filled(update.metadata),
  });
}

/** File names and media types of parts that are no files are what 0.3 has no words for. */
function showPart(part: PartJson): JsonObject {
  const metadata = filled(part.metadata);
  if (part.text !== undefined) return defined({ kind: "text", text: part.text, metadata });
  const names = { name: filled(part.filename), mimeType: filled(part.mediaType) };
  if (part.raw !== undefined) {
    return defined({ kind: "file", file: defined({ bytes: part.raw, ...names }), metadata });
  }
  if (part.url !== undefined) {
    return defined({ kind: "file", file: defined({ uri: part.url, ...names }), metadata });
  }
  const { data = null } = part;
  if (isObject(data)) return defined({ kind: "data", data, metadata });
  return { kind: "data", data: { value: data }, metadata: { ...metadata, [wrappedFlag]: true } };
}

export function showConfig(config: TaskPushNotificationConfigJson): JsonObject {
  const { taskId, authentication } = config;
  const pushNotificationConfig = defined({
    id: filled(config.id),
    url: config.url,
    token: filled(config.token),
    authentication:
      authentication === undefined
        ? undefined
        : defined({
            schemes: authentication.scheme === undefined ? [] : [authentication.scheme],
            credentials: filled(authentication.credentials),
          }),
  });
  return defined({ taskId, pushNotificationConfig });
}

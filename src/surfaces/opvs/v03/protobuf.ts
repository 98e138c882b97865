/** The form that the protobuf messages of 0.3 have in JSON: that of its REST and, as messages, of its gRPC. */

import type { JsonObject } from "@bufbuild/protobuf";
import type {
  ListTaskPushNotificationConfigsResponseJson,
  PartJson,
  SendMessageResponseJson,
  StreamResponseJson,
  TaskPushNotificationConfigJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { defined, filled, isObject, member, objectAt, refused } from "./fields.ts";
import {
  type Form,
  readData,
  readFile,
  readSendMessage as readParams,
  readWebhook,
  showData,
  showEvent,
  showWebhook,
} from "./form.ts";

export const protobuf: Form = {
  parts: "content",
  webhook: "pushNotification",
  roles: { ROLE_UNSPECIFIED: "ROLE_AGENT", ROLE_USER: "ROLE_USER", ROLE_AGENT: "ROLE_AGENT" },
  states: {
    TASK_STATE_UNSPECIFIED: "TASK_STATE_UNSPECIFIED",
    TASK_STATE_SUBMITTED: "TASK_STATE_SUBMITTED",
    TASK_STATE_WORKING: "TASK_STATE_WORKING",
    TASK_STATE_COMPLETED: "TASK_STATE_COMPLETED",
    TASK_STATE_FAILED: "TASK_STATE_FAILED",
    TASK_STATE_CANCELED: "TASK_STATE_CANCELLED",
    TASK_STATE_INPUT_REQUIRED: "TASK_STATE_INPUT_REQUIRED",
    TASK_STATE_REJECTED: "TASK_STATE_REJECTED",
    TASK_STATE_AUTH_REQUIRED: "TASK_STATE_AUTH_REQUIRED",
  },
  mark: () => ({}),
  readPart,
  showPart,
};

function readPart(part: JsonObject, field: string): JsonObject {
  const metadata = member(part, "metadata");
  const [text, file, data] = [member(part, "text"), member(part, "file"), member(part, "data")];
  if ([text, file, data].filter((content) => content !== undefined).length !== 1) {
    throw refused(field, "needs exactly one of text, file and data");
  }
  if (text !== undefined) return defined({ text, metadata });
  if (file !== undefined) return defined({ ...readFile(file, `${field}.file`), metadata });
  // A message without its only field is an empty one.
  return readData(member(objectAt(data, `${field}.data`), "data") ?? {}, metadata);
}

function showPart(part: PartJson): JsonObject {
  const metadata = filled(part.metadata);
  if (part.text !== undefined) return defined({ text: part.text, metadata });
  const names = { mimeType: filled(part.mediaType), name: filled(part.filename) };
  if (part.raw !== undefined) {
    return defined({ file: defined({ fileWithBytes: part.raw, ...names }), metadata });
  }
  if (part.url !== undefined)
    return defined({ file: defined({ fileWithUri: part.url, ...names }), metadata });
  const { data, metadata: marked } = showData(part);
  return defined({ data: { data }, metadata: marked });
}

/** `SendMessageRequest` of 1.0. The message is called `request` by those who write the name of the field. */
export function readSendMessage(body: JsonObject): JsonObject {
  const message = member(body, "message") ?? member(body, "request");
  const read = readParams(protobuf, defined({ ...body, message }));
  const { configuration } = read;
  if (!isObject(configuration)) return read;
  return { ...read, configuration: withoutZero(configuration) };
}

/** A number that is not there is 0 in these messages, so that 0 asks for nothing. */
export function withoutZero(request: JsonObject): JsonObject {
  const { historyLength, ...others } = request;
  return historyLength === undefined || Number(historyLength) === 0 ? others : request;
}

/**
 * `TaskPushNotificationConfig` of 1.0, from any of the bodies that clients send: `{name, pushNotificationConfig}`, the
 * same as `config`, that with `parent` and `configId`, or the bare webhook as `config`.
 */
export function readConfig(taskId: string, body: JsonObject): JsonObject {
  const config = member(body, "config") ?? body;
  const inner = isObject(config) ? member(config, "pushNotificationConfig") : undefined;
  if (inner === undefined && config === body) {
    throw refused("pushNotificationConfig", "is missing");
  }
  const webhook = readWebhook(inner ?? config, inner === undefined ? "config" : "pushNotificationConfig");
  const id = member(webhook, "id") ?? member(body, "configId");
  return defined({ ...webhook, id, taskId });
}

export function showConfig(config: TaskPushNotificationConfigJson): JsonObject {
  return {
    name: configName(config.taskId ?? "", config.id ?? ""),
    pushNotificationConfig: showWebhook(config),
  };
}

export function configName(taskId: string, configId: string): string {
  return `tasks/${taskId}/pushNotificationConfigs/${configId}`;
}

export function showConfigs(response: ListTaskPushNotificationConfigsResponseJson): JsonObject {
  return defined({
    configs: (response.configs ?? []).map(showConfig),
    nextPageToken: filled(response.nextPageToken),
  });
}

/** An answer or an event, in the member that says what it is. */
export function showWrapped(event: StreamResponseJson | SendMessageResponseJson): JsonObject {
  const { member: name, object } = showEvent(protobuf, event);
  return { [name]: object };
}

/**
 * The two forms in which 0.3 writes the same things. JSON-RPC and webhooks use plain objects that say their `kind`; REST
 * and gRPC use the protobuf messages of 0.3. Here is what they have in common, in both directions; what is different is
 * a `Form` (`kinds.ts`, `protobuf.ts`).
 */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type {
  ArtifactJson,
  MessageJson,
  PartJson,
  RoleJson,
  StreamResponseJson,
  TaskArtifactUpdateEventJson,
  TaskJson,
  TaskPushNotificationConfigJson,
  TaskStateJson,
  TaskStatusJson,
  TaskStatusUpdateEventJson,
} from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { defined, filled, isObject, listAt, member, members, objectAt, refused } from "./fields.ts";

/** The sorts of objects that an answer, a stream or a webhook can hold. */
export type Kind = "task" | "message" | "status-update" | "artifact-update";

export interface Form {
  /** Under which name a message has its parts. */
  parts: "parts" | "content";
  /** Under which name a request's configuration has a webhook. */
  webhook: "pushNotificationConfig" | "pushNotification";
  roles: Readonly<Record<RoleJson, string>>;
  states: Readonly<Record<TaskStateJson, string>>;
  /** What tells an object's sort, written into it. */
  mark(kind: Kind): JsonObject;
  readPart(part: JsonObject, field: string): JsonObject;
  showPart(part: PartJson): JsonObject;
}

/** `SendMessageRequest` of 1.0, from the parameters of a message that is sent or streamed. */
export function readSendMessage(form: Form, params: JsonObject): JsonObject {
  const message = member(params, "message");
  const configuration = member(params, "configuration");
  return defined({
    message: message === undefined ? undefined : readMessage(form, objectAt(message, "message")),
    // Who says nothing about the answer waits for it; who says something and leaves out `blocking` does not.
    configuration:
      configuration === undefined
        ? undefined
        : readConfiguration(form, objectAt(configuration, "configuration")),
    metadata: member(params, "metadata"),
  });
}

export function readMessage(form: Form, message: JsonObject, field = "message"): JsonObject {
  const kind = member(message, "kind");
  if (kind !== undefined && kind !== "message") throw refused(`${field}.kind`, 'must be "message"');
  const [role, parts] = [member(message, "role"), member(message, form.parts)];
  return defined({
    ...members(message, ["messageId", "contextId", "taskId", "metadata", "extensions", "referenceTaskIds"]),
    role: role === undefined ? undefined : readRole(form, role, `${field}.role`),
    parts: parts === undefined ? undefined : readParts(form, parts, `${field}.${form.parts}`),
  });
}

function readRole(form: Form, role: JsonValue, field: string): string {
  const known = Object.entries(form.roles).find(
    ([name, said]) => said === role && name !== "ROLE_UNSPECIFIED",
  );
  if (known === undefined)
    throw refused(field, `must be "${form.roles.ROLE_USER}" or "${form.roles.ROLE_AGENT}"`);
  return known[0];
}

function readParts(form: Form, parts: JsonValue, field: string): JsonValue[] {
  return listAt(parts, field).map((part, index) => {
    const place = `${field}[${index}]`;
    return form.readPart(objectAt(part, place), place);
  });
}

function readConfiguration(form: Form, configuration: JsonObject): JsonObject {
  const webhook = member(configuration, form.webhook);
  return defined({
    ...members(configuration, ["acceptedOutputModes", "historyLength"]),
    returnImmediately: !readBlocking(member(configuration, "blocking")),
    taskPushNotificationConfig:
      webhook === undefined ? undefined : readWebhook(webhook, `configuration.${form.webhook}`),
  });
}

function readBlocking(blocking: JsonValue | undefined): boolean {
  if (blocking === undefined) return false;
  if (typeof blocking === "boolean") return blocking;
  throw refused("configuration.blocking", "must be true or false");
}

/** `TaskPushNotificationConfig` of 1.0, but for the task, from the webhook inside 0.3's one. */
export function readWebhook(value: JsonValue | undefined, field: string): JsonObject {
  const webhook = objectAt(value, field);
  const authentication = member(webhook, "authentication");
  return defined({
    ...members(webhook, ["id", "url", "token"]),
    authentication:
      authentication === undefined
        ? undefined
        : readAuthentication(authentication, `${field}.authentication`),
  });
}

/** 0.3 lists schemes and 1.0 has one: the first is the one that the client likes best. */
function readAuthentication(value: JsonValue, field: string): JsonObject {
  const authentication = objectAt(value, field);
  const [scheme] = listAt(member(authentication, "schemes") ?? [], `${field}.schemes`);
  if (scheme === undefined) throw refused(`${field}.schemes`, "needs a scheme");
  return defined({ scheme, credentials: member(authentication, "credentials") });
}

export function showTask(form: Form, task: TaskJson): JsonObject {
  return defined({
    ...form.mark("task"),
    id: task.id,
    contextId: task.contextId,
    status: showStatus(form, task.status ?? {}),
    artifacts: filled((task.artifacts ?? []).map((artifact) => showArtifact(form, artifact))),
    history: filled((task.history ?? []).map((message) => showMessage(form, message))),
    metadata: filled(task.metadata),
  });
}

function showStatus(form: Form, status: TaskStatusJson): JsonObject {
  return defined({
    state: form.states[status.state ?? "TASK_STATE_UNSPECIFIED"],
    message: status.message === undefined ? undefined : showMessage(form, status.message),
    timestamp: status.timestamp,
  });
}

export function showMessage(form: Form, message: MessageJson): JsonObject {
  return defined({
    ...form.mark("message"),
    messageId: message.messageId,
    contextId: filled(message.contextId),
    taskId: filled(message.taskId),
    role: form.roles[message.role ?? "ROLE_UNSPECIFIED"],
    [form.parts]: (message.parts ?? []).map((part) => form.showPart(part)),
    metadata: filled(message.metadata),
    extensions: filled(message.extensions),
    referenceTaskIds: filled(message.referenceTaskIds),
  });
}

function showArtifact(form: Form, artifact: ArtifactJson): JsonObject {
  return defined({
    artifactId: artifact.artifactId,
    name: filled(artifact.name),
    description: filled(artifact.description),
    parts: (artifact.parts ?? []).map((part) => form.showPart(part)),
    metadata: filled(artifact.metadata),
    extensions: filled(artifact.extensions),
  });
}

/** The states after which nothing comes. */
const finalStates: ReadonlySet<TaskStateJson> = new Set([
  "TASK_STATE_COMPLETED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_FAILED",
  "TASK_STATE_REJECTED",
]);

export function isFinal(task: { status?: TaskStatusJson }): boolean {
  return finalStates.has(task.status?.state ?? "TASK_STATE_UNSPECIFIED");
}

function showStatusUpdate(form: Form, update: TaskStatusUpdateEventJson): JsonObject {
  return defined({
    ...form.mark("status-update"),
    taskId: update.taskId,
    contextId: update.contextId,
    status: showStatus(form, update.status ?? {}),
    final: isFinal(update),
    metadata: filled(update.metadata),
  });
}

function showArtifactUpdate(form: Form, update: TaskArtifactUpdateEventJson): JsonObject {
  return defined({
    ...form.mark("artifact-update"),
    taskId: update.taskId,
    contextId: update.contextId,
    artifact: showArtifact(form, update.artifact ?? {}),
    append: update.append,
    lastChunk: update.lastChunk,
    metadata: filled(update.metadata),
  });
}

/** The one thing that an answer or an event holds, with the member of 1.0 that holds it. */
export interface Shown {
  member: "task" | "message" | "statusUpdate" | "artifactUpdate";
  object: JsonObject;
}

export function showEvent(form: Form, event: StreamResponseJson): Shown {
  const { task, message, statusUpdate, artifactUpdate } = event;
  if (task !== undefined) return { member: "task", object: showTask(form, task) };
  if (message !== undefined) return { member: "message", object: showMessage(form, message) };
  if (statusUpdate !== undefined) {
    return { member: "statusUpdate", object: showStatusUpdate(form, statusUpdate) };
  }
  if (artifactUpdate !== undefined) {
    return { member: "artifactUpdate", object: showArtifactUpdate(form, artifactUpdate) };
  }
  throw new Error("An event without a payload cannot be shown.");
}

/** The webhook inside a config: the same in both forms. */
export function showWebhook(config: TaskPushNotificationConfigJson): JsonObject {
  const { authentication } = config;
  return defined({
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
}

/** Says in a part's metadata that its data, which 0.3 wants to be an object, is wrapped in one. */
const wrappedFlag = "data_part_compat";

/** Data as 0.3 has it, where it is always an object. */
export function showData(part: PartJson): { data: JsonObject; metadata: JsonObject | undefined } {
  const { data = null, metadata } = part;
  if (isObject(data)) return { data, metadata: filled(metadata) };
  return { data: { value: data }, metadata: { ...metadata, [wrappedFlag]: true } };
}

export function readData(data: JsonValue, metadata: JsonValue | undefined): JsonObject {
  const isWrapped = isObject(metadata) && metadata[wrappedFlag] === true;
  if (!isWrapped || !isObject(data) || data.value === undefined) return defined({ data, metadata });
  const { [wrappedFlag]: _, ...others } = metadata;
  return defined({ data: data.value, metadata: filled(others) });
}

/** A file's bytes or where they are, under the names of either form: clients have been seen to mix them. */
export function readFile(value: JsonValue, field: string): JsonObject {
  const file = objectAt(value, field);
  const raw = member(file, "bytes") ?? member(file, "fileWithBytes");
  const url = member(file, "uri") ?? member(file, "fileWithUri");
  if ((raw === undefined) === (url === undefined)) {
    throw refused(field, "needs either its bytes or its uri");
  }
  return defined({ raw, url, filename: member(file, "name"), mediaType: member(file, "mimeType") });
}

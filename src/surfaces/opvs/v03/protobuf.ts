/**
 * The protobuf shapes of 0.3, which its gRPC and its REST clients speak, to those of 1.0 and back. Pure functions on the
 * JSON form of both; `proto/a2a/v1/a2a.proto` is the one side, `proto/lf/a2a/v1/a2a.proto` the other.
 */

import type * as v03 from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import type * as v1 from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { InvalidParams } from "../errors.ts";

/** Marks data that is no object, which 0.3 can only carry inside of one. */
const wrappedValue = "data_part_compat";

const taskName = /^tasks\/([^/]+)$/;
const configName = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/;

/** What 0.3 calls the end of a stream. */
const finalStates: ReadonlySet<string> = new Set<v1.TaskStateJson>([
  "TASK_STATE_COMPLETED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_FAILED",
  "TASK_STATE_REJECTED",
]);

/** The fields that are there. */
function given<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T;
function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** An empty list is not said. */
function some<T>(items: readonly T[] | undefined): T[] | undefined {
  return items === undefined || items.length === 0 ? undefined : [...items];
}

function idIn(name: string | undefined, field: string): string {
  const id = taskName.exec(name ?? "")?.[1];
  if (id === undefined) throw new InvalidParams([{ field, description: "must be tasks/{id}" }]);
  return id;
}

function idsIn(name: string | undefined): { taskId: string; id: string } {
  const [, taskId, id] = configName.exec(name ?? "") ?? [];
  if (taskId !== undefined && id !== undefined) return { taskId, id };
  const description = "must be tasks/{id}/pushNotificationConfigs/{id}";
  throw new InvalidParams([{ field: "name", description }]);
}

// What clients send

function roleAndIds<T>({ messageId, contextId, taskId, role, metadata }: T & v1.MessageJson) {
  return { messageId, contextId, taskId, role, metadata };
}

export function messageTo1({ content, extensions, ...rest }: v03.MessageJson): v1.MessageJson {
  return given<v1.MessageJson>({
    ...roleAndIds(rest),
    parts: content?.map(partTo1) ?? [],
    extensions: some(extensions),
  });
}

function partTo1({ text, file, data, metadata }: v03.PartJson): v1.PartJson {
  const { [wrappedValue]: isWrapped, ...others } = metadata ?? {};
  const kept = isWrapped === true ? others : metadata;
  return given<v1.PartJson>({
    text,
    raw: file?.fileWithBytes,
    url: file?.fileWithUri,
    data: isWrapped === true ? data?.data?.value : data && (data.data ?? {}),
    filename: file?.name,
    mediaType: file?.mimeType,
    metadata: kept !== undefined && Object.keys(kept).length > 0 ? kept : undefined,
  });
}

export function sendRequestTo1({
  message,
  configuration,
  metadata,
}: v03.SendMessageRequestJson): v1.SendMessageRequestJson {
  return given<v1.SendMessageRequestJson>({
    message: message && messageTo1(message),
    configuration: configuration && configurationTo1(configuration),
    metadata,
  });
}

/** Here a length of 0 is no limit, and who configures anything without saying `blocking` does not wait. */
function configurationTo1({
  acceptedOutputModes,
  pushNotification,
  historyLength,
  blocking,
}: v03.SendMessageConfigurationJson): v1.SendMessageConfigurationJson {
  return given<v1.SendMessageConfigurationJson>({
    acceptedOutputModes,
    taskPushNotificationConfig: pushNotification && pushConfigTo1(pushNotification),
    historyLength: historyLength || undefined,
    returnImmediately: blocking !== true,
  });
}

function pushConfigTo1({
  id,
  url,
  token,
  authentication,
}: v03.PushNotificationConfigJson): v1.TaskPushNotificationConfigJson {
  return given<v1.TaskPushNotificationConfigJson>({
    id,
    url,
    token,
    authentication:
      authentication &&
      given<v1.AuthenticationInfoJson>({
        scheme: authentication.schemes?.[0],
        credentials: authentication.credentials,
      }),
  });
}

export function getTaskTo1({ name, historyLength }: v03.GetTaskRequestJson): v1.GetTaskRequestJson {
  return given<v1.GetTaskRequestJson>({ id: idIn(name, "name"), historyLength: historyLength || undefined });
}

export function taskIdTo1({ name }: { name?: string }): { id: string } {
  return { id: idIn(name, "name") };
}

export function createConfigTo1({
  parent,
  configId,
  config,
}: v03.CreateTaskPushNotificationConfigRequestJson): v1.TaskPushNotificationConfigJson {
  const flat = pushConfigTo1(config?.pushNotificationConfig ?? {});
  const id = configId || flat.id;
  return { ...flat, ...(id === undefined ? {} : { id }), taskId: idIn(parent, "parent") };
}

export function configNameTo1({ name }: { name?: string }): { taskId: string; id: string } {
  return idsIn(name);
}

export function listConfigsTo1({
  parent,
  pageSize,
  pageToken,
}: v03.ListTaskPushNotificationConfigRequestJson): v1.ListTaskPushNotificationConfigsRequestJson {
  return given<v1.ListTaskPushNotificationConfigsRequestJson>({
    taskId: idIn(parent, "parent"),
    pageSize,
    pageToken,
  });
}

// What they get

export function messageTo03({ parts, extensions, ...rest }: v1.MessageJson): v03.MessageJson {
  return given<v03.MessageJson>({
    ...roleAndIds(rest),
    content: parts?.map(partTo03) ?? [],
    extensions: some(extensions),
  });
}

function partTo03(part: v1.PartJson): v03.PartJson {
  const { text, raw, url, data, filename, mediaType, metadata } = part;
  if (text !== undefined) return given<v03.PartJson>({ text, metadata });
  if (data === undefined) {
    const file = given<v03.FilePartJson>({
      fileWithUri: url,
      fileWithBytes: raw,
      mimeType: mediaType,
      name: filename,
    });
    return given<v03.PartJson>({ file, metadata });
  }
  if (typeof data === "object" && data !== null && !Array.isArray(data)) {
    return given<v03.PartJson>({ data: { data }, metadata });
  }
  return { data: { data: { value: data } }, metadata: { ...metadata, [wrappedValue]: true } };
}

function artifactTo03({ parts, extensions, ...rest }: v1.ArtifactJson): v03.ArtifactJson {
  const { artifactId, name, description, metadata } = rest;
  return given<v03.ArtifactJson>({
    artifactId,
    name,
    description,
    metadata,
    parts: parts?.map(partTo03) ?? [],
    extensions: some(extensions),
  });
}

export function taskTo03({ id, contextId, status, artifacts, history, metadata }: v1.TaskJson): v03.TaskJson {
  return given<v03.TaskJson>({
    id,
    contextId,
    status: status && statusTo03(status),
    artifacts: some(artifacts?.map(artifactTo03)),
    history: some(history?.map(messageTo03)),
    metadata,
  });
}

function statusTo03({ state, message, timestamp }: v1.TaskStatusJson): v03.TaskStatusJson {
  return given<v03.TaskStatusJson>({
    state: state === "TASK_STATE_CANCELED" ? "TASK_STATE_CANCELLED" : state,
    message: message && messageTo03(message),
    timestamp,
  });
}

export function sendAnswerTo03({ task, message }: v1.SendMessageResponseJson): v03.SendMessageResponseJson {
  return given<v03.SendMessageResponseJson>({
    task: task && taskTo03(task),
    message: message && messageTo03(message),
  });
}

export function eventTo03(event: v1.StreamResponseJson): v03.StreamResponseJson {
  const { task, message, statusUpdate, artifactUpdate } = event;
  return given<v03.StreamResponseJson>({
    task: task && taskTo03(task),
    message: message && messageTo03(message),
    statusUpdate: statusUpdate && statusUpdateTo03(statusUpdate),
    artifactUpdate: artifactUpdate && artifactUpdateTo03(artifactUpdate),
  });
}

function statusUpdateTo03({
  taskId,
  contextId,
  status,
  metadata,
}: v1.TaskStatusUpdateEventJson): v03.TaskStatusUpdateEventJson {
  return given<v03.TaskStatusUpdateEventJson>({
    taskId,
    contextId,
    status: status && statusTo03(status),
    final: finalStates.has(status?.state ?? "") || undefined,
    metadata,
  });
}

function artifactUpdateTo03({
  artifact,
  ...rest
}: v1.TaskArtifactUpdateEventJson): v03.TaskArtifactUpdateEventJson {
  return given<v03.TaskArtifactUpdateEventJson>({ ...rest, artifact: artifact && artifactTo03(artifact) });
}

export function configTo03({
  id,
  taskId,
  url,
  token,
  authentication,
}: v1.TaskPushNotificationConfigJson): v03.TaskPushNotificationConfigJson {
  return {
    name: `tasks/${taskId ?? ""}/pushNotificationConfigs/${id ?? ""}`,
    pushNotificationConfig: given<v03.PushNotificationConfigJson>({
      id,
      url,
      token,
      authentication:
        authentication &&
        given<v03.AuthenticationInfoJson>({
          schemes: authentication.scheme === undefined ? undefined : [authentication.scheme],
          credentials: authentication.credentials,
        }),
    }),
  };
}

export function configsTo03({
  configs,
  nextPageToken,
}: v1.ListTaskPushNotificationConfigsResponseJson): v03.ListTaskPushNotificationConfigResponseJson {
  return given<v03.ListTaskPushNotificationConfigResponseJson>({
    configs: configs?.map(configTo03),
    nextPageToken,
  });
}

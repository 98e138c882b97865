/** What clients of 0.3 ask, from the form in which objects say their `kind` to the JSON of 1.0's requests. */

import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { RoleJson } from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { defined, filled, isObject, listAt, member, members, objectAt, refused } from "./fields.ts";

/** `SendMessageRequest`, from the parameters of a message that is sent or streamed. */
export function readSendMessage(params: JsonObject): JsonObject {
  const [message, configuration] = [member(params, "message"), member(params, "configuration")];
  return defined({
    message: message === undefined ? undefined : readMessage(objectAt(message, "message")),
    configuration:
      configuration === undefined ? undefined : readConfiguration(objectAt(configuration, "configuration")),
    metadata: member(params, "metadata"),
  });
}

export function readMessage(message: JsonObject): JsonObject {
  const kind = member(message, "kind");
  if (kind !== undefined && kind !== "message") throw refused("message.kind", 'must be "message"');
  const [role, parts] = [member(message, "role"), member(message, "parts")];
  return defined({
    ...members(message, ["messageId", "contextId", "taskId", "metadata", "extensions", "referenceTaskIds"]),
    role: role === undefined ? undefined : readRole(role),
    parts: parts === undefined ? undefined : readParts(parts),
  });
}

function readRole(role: JsonValue): RoleJson {
  if (role === "user") return "ROLE_USER";
  if (role === "agent") return "ROLE_AGENT";
  throw refused("message.role", 'must be "user" or "agent"');
}

function readParts(parts: JsonValue): JsonValue[] {
  return listAt(parts, "message.parts").map((part, index) => {
    const field = `message.parts[${index}]`;
    return readPart(objectAt(part, field), field);
  });
}

function readPart(part: JsonObject, field: string): JsonObject {
  const metadata = member(part, "metadata");
  switch (kindOf(part)) {
    case "text":
      return defined({ text: contentOf(part, "text", field), metadata });
    case "file":
      return defined({ ...readFile(contentOf(part, "file", field), `${field}.file`), metadata });
    case "data":
      return readData(contentOf(part, "data", field), metadata);
    default:
      throw refused(`${field}.kind`, 'must be "text", "file" or "data"');
  }
}

/** What a part says it is or, where it says nothing, what it has. */
function kindOf(part: JsonObject): JsonValue | undefined {
  return member(part, "kind") ?? ["text", "file", "data"].find((kind) => Object.hasOwn(part, kind));
}

/** null is a value of data and none of the others, where the schema refuses it. */
function contentOf(part: JsonObject, kind: string, field: string): JsonValue {
  const content = part[kind];
  if (content === undefined) throw refused(`${field}.${kind}`, "is missing");
  return content;
}

/** A file's bytes or where they are; also under the names of the protobuf form, with which some mix it up. */
function readFile(value: JsonValue, field: string): JsonObject {
  const file = objectAt(value, field);
  const raw = member(file, "bytes") ?? member(file, "fileWithBytes");
  const url = member(file, "uri") ?? member(file, "fileWithUri");
  if ((raw === undefined) === (url === undefined)) {
    throw refused(field, "needs either its bytes or its uri");
  }
  return defined({ raw, url, filename: member(file, "name"), mediaType: member(file, "mimeType") });
}

/** Says in a part's metadata that its data, which 0.3 wants to be an object, is wrapped in one. */
export const wrappedFlag = "data_part_compat";

function readData(data: JsonValue, metadata: JsonValue | undefined): JsonObject {
  const isWrapped = isObject(metadata) && metadata[wrappedFlag] === true;
  if (!isWrapped || !isObject(data) || data.value === undefined) return defined({ data, metadata });
  const { [wrappedFlag]: _, ...others } = metadata;
  return defined({ data: data.value, metadata: filled(others) });
}

/** Who says nothing about the answer waits for it; who says something and leaves out `blocking` does not. */
function readConfiguration(configuration: JsonObject): JsonObject {
  const webhook = member(configuration, "pushNotificationConfig");
  return defined({
    ...members(configuration, ["acceptedOutputModes", "historyLength"]),
    returnImmediately: !readBlocking(member(configuration, "blocking")),
    taskPushNotificationConfig:
      webhook === undefined ? undefined : readWebhook(webhook, "configuration.pushNotificationConfig"),
  });
}

function readBlocking(blocking: JsonValue | undefined): boolean {
  if (blocking === undefined) return false;
  if (typeof blocking === "boolean") return blocking;
  throw refused("configuration.blocking", "must be true or false");
}

/** `TaskPushNotificationConfig` but for the task, from the webhook inside 0.3's one. */
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
function readAuthentication(value: JsonValue, field: string): JsonObject | undefined {
  const authentication = objectAt(value, field);
  const [scheme] = listAt(member(authentication, "schemes") ?? [], `${field}.schemes`);
  // 0.3 has nothing against a list that says nothing.
  if (scheme === undefined) return undefined;
  return defined({ scheme, credentials: member(authentication, "credentials") });
}

/** The bodies of 0.3's REST, in every spelling that its clients use, as the JSON of 1.0's requests. */

import {
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageJsonType,
  toJson,
} from "@bufbuild/protobuf";
import {
  CreateTaskPushNotificationConfigRequestSchema,
  SendMessageRequestSchema,
} from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import { readMessage } from "../validate.ts";
import { defined, member, objectAt, refused } from "./fields.ts";
import { createConfigTo1, sendRequestTo1 } from "./protobuf.ts";

export function readSendBody(body: JsonValue): JsonObject {
  return sendRequestTo1(normal(SendMessageRequestSchema, objectAt(body, "body")));
}

/** Clients send the config itself, or in a request of its own, or the bare webhook in one. */
export function readConfigBody(taskId: string, value: JsonValue): JsonObject {
  const body = objectAt(value, "body");
  const config = objectAt(member(body, "config") ?? body, "config");
  const isBare = member(config, "pushNotificationConfig") === undefined;
  if (isBare && config === body) throw refused("pushNotificationConfig", "is missing");
  const request = defined({
    parent: `tasks/${taskId}`,
    configId: member(body, "configId"),
    config: isBare ? { pushNotificationConfig: config } : config,
  });
  return createConfigTo1(normal(CreateTaskPushNotificationConfigRequestSchema, request));
}

/** A message in the one way that its definition writes it: every spelling is read, what is unknown left out. */
export function normal<D extends DescMessage>(schema: D, json: JsonObject): MessageJsonType<D> {
  return toJson<D, undefined>(schema, readMessage(schema, json));
}

/** The methods of 0.3 as operations of today: each with its own messages, those of the operation, and the way between. */

import {
  type DescMessage,
  fromJson,
  isMessage,
  type JsonValue,
  type MessageJsonType,
  toJson,
} from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import * as v03 from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import * as v1 from "../../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { OperationName } from "../operations.ts";
import * as shapes from "../v03/protobuf.ts";
import { cardTo03 } from "../v03/protobuf-card.ts";
import type { Method } from "./binding.ts";

/** Takes `[theirs, ours]` and gives `[ours, theirs]`. */
interface Translation<
  TheirInput extends DescMessage,
  Input extends DescMessage,
  Output extends DescMessage,
  TheirOutput extends DescMessage,
> {
  operation: OperationName;
  takes: [TheirInput, Input];
  gives: [Output, TheirOutput];
  request(json: MessageJsonType<TheirInput>): JsonValue;
  answer(json: MessageJsonType<Output>): JsonValue;
}

/** Everything goes through the definitions on both sides, so nothing is said that one of them does not have. */
function translated<
  TheirInput extends DescMessage,
  Input extends DescMessage,
  Output extends DescMessage,
  TheirOutput extends DescMessage,
>(translation: Translation<TheirInput, Input, Output, TheirOutput>): Method {
  const { operation, takes, gives, request, answer } = translation;
  const [theirInput, input] = takes;
  const [output, theirOutput] = gives;
  return {
    operation,
    read(message) {
      if (!isMessage(message, theirInput)) throw new Error(`${operation} got another message than its own`);
      return fromJson(input, request(toJson<TheirInput, undefined>(theirInput, message)));
    },
    write(given) {
      const json = toJson<Output, undefined>(output, fromJson(output, given));
      return fromJson(theirOutput, answer(json), { ignoreUnknownFields: true });
    },
  };
}

const methods: Record<string, Method> = {
  SendMessage: translated({
    operation: "SendMessage",
    takes: [v03.SendMessageRequestSchema, v1.SendMessageRequestSchema],
    gives: [v1.SendMessageResponseSchema, v03.SendMessageResponseSchema],
    request: shapes.sendRequestTo1,
    answer: shapes.sendAnswerTo03,
  }),
  SendStreamingMessage: translated({
    operation: "SendStreamingMessage",
    takes: [v03.SendMessageRequestSchema, v1.SendMessageRequestSchema],
    gives: [v1.StreamResponseSchema, v03.StreamResponseSchema],
    request: shapes.sendRequestTo1,
    answer: shapes.eventTo03,
  }),
  GetTask: translated({
    operation: "GetTask",
    takes: [v03.GetTaskRequestSchema, v1.GetTaskRequestSchema],
    gives: [v1.TaskSchema, v03.TaskSchema],
    request: shapes.getTaskTo1,
    answer: shapes.taskTo03,
  }),
  CancelTask: translated({
    operation: "CancelTask",
    takes: [v03.CancelTaskRequestSchema, v1.CancelTaskRequestSchema],
    gives: [v1.TaskSchema, v03.TaskSchema],
    request: shapes.taskIdTo1,
    answer: shapes.taskTo03,
  }),
  TaskSubscription: translated({
    operation: "SubscribeToTask",
    takes: [v03.TaskSubscriptionRequestSchema, v1.SubscribeToTaskRequestSchema],
    gives: [v1.StreamResponseSchema, v03.StreamResponseSchema],
    request: shapes.taskIdTo1,
    answer: shapes.eventTo03,
  }),
  CreateTaskPushNotificationConfig: translated({
    operation: "CreateTaskPushNotificationConfig",
    takes: [v03.CreateTaskPushNotificationConfigRequestSchema, v1.TaskPushNotificationConfigSchema],
    gives: [v1.TaskPushNotificationConfigSchema, v03.TaskPushNotificationConfigSchema],
    request: shapes.createConfigTo1,
    answer: shapes.configTo03,
  }),
  GetTaskPushNotificationConfig: translated({
    operation: "GetTaskPushNotificationConfig",
    takes: [v03.GetTaskPushNotificationConfigRequestSchema, v1.GetTaskPushNotificationConfigRequestSchema],
    gives: [v1.TaskPushNotificationConfigSchema, v03.TaskPushNotificationConfigSchema],
    request: shapes.configNameTo1,
    answer: shapes.configTo03,
  }),
  ListTaskPushNotificationConfig: translated({
    operation: "ListTaskPushNotificationConfigs",
    takes: [v03.ListTaskPushNotificationConfigRequestSchema, v1.ListTaskPushNotificationConfigsRequestSchema],
    gives: [
      v1.ListTaskPushNotificationConfigsResponseSchema,
      v03.ListTaskPushNotificationConfigResponseSchema,
    ],
    request: shapes.listConfigsTo1,
    answer: shapes.configsTo03,
  }),
  DeleteTaskPushNotificationConfig: translated({
    operation: "DeleteTaskPushNotificationConfig",
    takes: [
      v03.DeleteTaskPushNotificationConfigRequestSchema,
      v1.DeleteTaskPushNotificationConfigRequestSchema,
    ],
    gives: [EmptySchema, EmptySchema],
    request: shapes.configNameTo1,
    answer: () => ({}),
  }),
  GetAgentCard: translated({
    operation: "GetExtendedAgentCard",
    takes: [v03.GetAgentCardRequestSchema, v1.GetExtendedAgentCardRequestSchema],
    gives: [v1.AgentCardSchema, v03.AgentCardSchema],
    request: () => ({}),
    answer: (card) => cardTo03(card, "GRPC"),
  }),
};

export function legacy(name: string): Method {
  const method = methods[name];
  if (method === undefined) throw new Error(`version 0.3 has no method ${name}`);
  return method;
}

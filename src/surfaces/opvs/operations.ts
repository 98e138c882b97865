/** The eleven operations, each once, by the name that JSON-RPC and gRPC call it. */

import type { DescMessage, MessageJsonType, MessageShape } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  AgentCardSchema,
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetExtendedAgentCardRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  ListTasksRequestSchema,
  ListTasksResponseSchema,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  type StreamResponseJson,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { Scope } from "../../policy/caller.ts";
import type { Call } from "./call.ts";
import { extendedCard } from "./cards/extended-card.ts";
import { subscribeToTask } from "./follow.ts";
import {
  createTaskPushNotificationConfig,
  deleteTaskPushNotificationConfig,
  getTaskPushNotificationConfig,
  listTaskPushNotificationConfigs,
} from "./push-configs.ts";
import { sendMessage, sendStreamingMessage } from "./send.ts";
import { cancelTask, getTask, listTasks } from "./tasks.ts";

/** An operation that gives one answer. */
export interface Unary<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  kind: "unary";
  input: I;
  output: O;
  /** Checked before the request is read, where the address names the operation; null where every valid key may call. */
  scope: Scope | null;
  /** Whether it brings work, which is not taken while the server stops. */
  isWork: boolean;
  run(call: Call, request: MessageShape<I>): Promise<MessageJsonType<O>>;
}

/** One that gives events as they happen. What is refused is refused before the first of them. */
export interface Streaming<I extends DescMessage = DescMessage> {
  kind: "stream";
  input: I;
  output: typeof StreamResponseSchema;
  scope: Scope | null;
  isWork: boolean;
  run(call: Call, request: MessageShape<I>): Promise<AsyncIterable<StreamResponseJson>>;
}

function unary<I extends DescMessage, O extends DescMessage>(
  input: I,
  output: O,
  scope: Scope | null,
  run: Unary<I, O>["run"],
  { isWork = false } = {},
): Unary<I, O> {
  return { kind: "unary", input, output, scope, run, isWork };
}

function streaming<I extends DescMessage>(
  input: I,
  scope: Scope,
  run: Streaming<I>["run"],
  { isWork = false } = {},
): Streaming<I> {
  return { kind: "stream", input, output: StreamResponseSchema, scope, run, isWork };
}

export const operations = {
  SendMessage: unary(SendMessageRequestSchema, SendMessageResponseSchema, "tasks:write", sendMessage, {
    isWork: true,
  }),
  SendStreamingMessage: streaming(SendMessageRequestSchema, "tasks:write", sendStreamingMessage, {
    isWork: true,
  }),
  GetTask: unary(GetTaskRequestSchema, TaskSchema, "tasks:read", getTask),
  ListTasks: unary(ListTasksRequestSchema, ListTasksResponseSchema, "tasks:read", listTasks),
  CancelTask: unary(CancelTaskRequestSchema, TaskSchema, "tasks:write", cancelTask, { isWork: true }),
  SubscribeToTask: streaming(SubscribeToTaskRequestSchema, "tasks:read", subscribeToTask),
  CreateTaskPushNotificationConfig: unary(
    TaskPushNotificationConfigSchema,
    TaskPushNotificationConfigSchema,
    "tasks:write",
    createTaskPushNotificationConfig,
    { isWork: true },
  ),
  GetTaskPushNotificationConfig: unary(
    GetTaskPushNotificationConfigRequestSchema,
    TaskPushNotificationConfigSchema,
    "tasks:read",
    getTaskPushNotificationConfig,
  ),
  ListTaskPushNotificationConfigs: unary(
    ListTaskPushNotificationConfigsRequestSchema,
    ListTaskPushNotificationConfigsResponseSchema,
    "tasks:read",
    listTaskPushNotificationConfigs,
  ),
  DeleteTaskPushNotificationConfig: unary(
    DeleteTaskPushNotificationConfigRequestSchema,
    EmptySchema,
    "tasks:write",
    deleteTaskPushNotificationConfig,
    { isWork: true },
  ),
  GetExtendedAgentCard: unary(GetExtendedAgentCardRequestSchema, AgentCardSchema, null, extendedCard),
};

export type OperationName = keyof typeof operations;

export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name);
}

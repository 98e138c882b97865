/**
 * The paths of 0.3's REST below the address of the interface, each with the operation that it is called in 1.0. Bodies and
 * answers are the protobuf messages of 0.3 in JSON.
 */

import type { JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../../../../proto/generated/a2a/v1/a2a_pb.js";
import { OpvsError } from "../errors.ts";
import type { OperationName } from "../operations.ts";
import type { Route } from "../paths.ts";
import { normal, readConfigBody, readSendBody } from "./bodies.ts";
import { shown, type V03Call } from "./calls.ts";
import { defined } from "./fields.ts";
import { configsTo03, configTo03, eventTo03, sendAnswerTo03, taskTo03 } from "./protobuf.ts";
import { cardTo03 } from "./protobuf-card.ts";

/** What a request brings. */
export interface V03Request {
  taskId: string;
  configId: string;
  query(name: string): string | undefined;
  /** Null where nothing was sent. */
  body: JsonValue;
}

export interface V03Route extends Route {
  /** What it is called in 1.0. */
  operation: OperationName;
  /** Of an answer that is no stream. */
  status: 200 | 201 | 204;
  call: V03Call<V03Request>;
}

const sendMessage: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { body }) => sendAnswerTo03(await perform("SendMessage", readSendBody(body))),
};

const streamMessage: V03Call<V03Request> = {
  kind: "stream",
  alwaysStreams: false,
  run: async (perform, { body }) =>
    shown(await perform("SendStreamingMessage", readSendBody(body)), eventTo03),
};

const getTask: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { taskId: id, query }) => {
    const historyLength = query("historyLength") ?? query("history_length");
    // A number that is not there is 0 in these messages, so that 0 asks for nothing.
    const request = historyLength === "0" ? { id } : defined({ id, historyLength });
    return taskTo03(await perform("GetTask", request));
  },
};

const cancelTask: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { taskId: id }) => taskTo03(await perform("CancelTask", { id })),
};

const subscribe: V03Call<V03Request> = {
  kind: "stream",
  alwaysStreams: false,
  run: async (perform, { taskId: id }) => shown(await perform("SubscribeToTask", { id }), eventTo03),
};

const createConfig: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { taskId, body }) => {
    const request = readConfigBody(taskId, body);
    return configTo03(await perform("CreateTaskPushNotificationConfig", request));
  },
};

const getConfig: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { taskId, configId: id }) =>
    configTo03(await perform("GetTaskPushNotificationConfig", { taskId, id })),
};

const listConfigs: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { taskId }) =>
    configsTo03(await perform("ListTaskPushNotificationConfigs", { taskId })),
};

const deleteConfig: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform, { taskId, configId: id }) => {
    await perform("DeleteTaskPushNotificationConfig", { taskId, id });
    return null;
  },
};

const getCard: V03Call<V03Request> = {
  kind: "answer",
  run: async (perform) => {
    const card = cardTo03(await perform("GetExtendedAgentCard", {}), "HTTP+JSON");
    return normal(AgentCardSchema, card);
  },
};

const listTasks: V03Call<V03Request> = {
  kind: "answer",
  run: async () => {
    throw new OpvsError("UNSUPPORTED_OPERATION", "Tasks are listed in version 1.0 only.");
  },
};

const configs = ["tasks", "{taskId}", "pushNotificationConfigs"];

export const v03Routes: readonly V03Route[] = [
  { methods: ["POST"], path: ["message:send"], operation: "SendMessage", status: 201, call: sendMessage },
  {
    methods: ["POST"],
    path: ["message:stream"],
    operation: "SendStreamingMessage",
    status: 200,
    call: streamMessage,
  },
  { methods: ["GET"], path: ["tasks"], operation: "ListTasks", status: 200, call: listTasks },
  {
    methods: ["POST"],
    path: ["tasks", "{taskId}:cancel"],
    operation: "CancelTask",
    status: 200,
    call: cancelTask,
  },
  {
    methods: ["GET", "POST"],
    path: ["tasks", "{taskId}:subscribe"],
    operation: "SubscribeToTask",
    status: 200,
    call: subscribe,
  },
  { methods: ["GET"], path: ["tasks", "{taskId}"], operation: "GetTask", status: 200, call: getTask },
  {
    methods: ["POST"],
    path: configs,
    operation: "CreateTaskPushNotificationConfig",
    status: 201,
    call: createConfig,
  },
  {
    methods: ["GET"],
    path: configs,
    operation: "ListTaskPushNotificationConfigs",
    status: 200,
    call: listConfigs,
  },
  {
    methods: ["GET"],
    path: [...configs, "{configId}"],
    operation: "GetTaskPushNotificationConfig",
    status: 200,
    call: getConfig,
  },
  {
    methods: ["DELETE"],
    path: [...configs, "{configId}"],
    operation: "DeleteTaskPushNotificationConfig",
    status: 204,
    call: deleteConfig,
  },
  { methods: ["GET"], path: ["card"], operation: "GetExtendedAgentCard", status: 200, call: getCard },
];

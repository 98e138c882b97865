/** Requests of every operation of OPVS about one task, in the forms of its bindings. */

import assert from "node:assert/strict";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { A2AService as A2AService03 } from "../../proto/generated/a2a/v1/a2a_pb.js";
import type { OperationName } from "../../src/surfaces/opvs/operations.ts";
import type { Json } from "./client.ts";

/** Requests in the JSON of 1.0, about a task. */
export function requestFor(operation: OperationName, taskId: string): Json {
  const hook = { taskId, id: "hook" };
  const parts = [{ text: "x" }];
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", taskId, parts };
  const requests: Record<OperationName, Json> = {
    SendMessage: { message, configuration: { returnImmediately: true } },
    SendStreamingMessage: { message },
    GetTask: { id: taskId },
    ListTasks: {},
    CancelTask: { id: taskId },
    SubscribeToTask: { id: taskId },
    CreateTaskPushNotificationConfig: { ...hook, url: "https://example.com/hook" },
    GetTaskPushNotificationConfig: hook,
    ListTaskPushNotificationConfigs: { taskId },
    DeleteTaskPushNotificationConfig: hook,
    GetExtendedAgentCard: {},
  };
  return requests[operation];
}

/** The message of a gRPC method, about a task. */
export function messageFor(service: DescService, { name }: DescMethod, taskId: string): Json {
  const resource = `tasks/${taskId}`;
  const text = { case: "text" as const, value: "x" };
  const common = { messageId: crypto.randomUUID(), role: 1, taskId };
  if (service !== A2AService03) {
    const json = requestFor(name as OperationName, taskId);
    return json.message === undefined ? json : { message: { ...common, parts: [{ content: text }] } };
  }
  const hook = `${resource}/pushNotificationConfigs/hook`;
  const pushNotificationConfig = { id: "hook", url: "https://example.com/hook" };
  const messages: Record<string, Json> = {
    SendMessage: { request: { ...common, content: [{ part: text }] } },
    SendStreamingMessage: { request: { ...common, content: [{ part: text }] } },
    GetTask: { name: resource },
    CancelTask: { name: resource },
    TaskSubscription: { name: resource },
    CreateTaskPushNotificationConfig: {
      parent: resource,
      configId: "hook",
      config: { name: hook, pushNotificationConfig },
    },
    GetTaskPushNotificationConfig: { name: hook },
    ListTaskPushNotificationConfig: { parent: resource },
    DeleteTaskPushNotificationConfig: { name: hook },
    GetAgentCard: {},
  };
  return messages[name] ?? assert.fail(`${name} is new: say what it is asked with`);
}

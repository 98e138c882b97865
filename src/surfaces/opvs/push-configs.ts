/** The four operations about webhooks. A token and credentials go in and never come out: only the scheme is shown. */

import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponseJson,
  TaskPushNotificationConfig,
  TaskPushNotificationConfigJson,
} from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { PushConfigRecord } from "../../kernel/kinds/push-config.ts";
import { createPushConfig, type PushConfigInput } from "../../kernel/push/create-push-config.ts";
import { deletePushConfig } from "../../kernel/push/delete-push-config.ts";
import { getPushConfig, listPushConfigs, openPushConfig } from "../../kernel/push/push-configs.ts";
import { addressed } from "./agent.ts";
import { requireName } from "./anonymous.ts";
import type { Call, ProtocolVersion } from "./call.ts";
import { InvalidParams, OpvsError } from "./errors.ts";
import { visibleTask } from "./tasks.ts";

export async function createTaskPushNotificationConfig(
  call: Call,
  request: TaskPushNotificationConfig,
): Promise<TaskPushNotificationConfigJson> {
  const { kernel, caller, version } = call;
  const { taskId } = request;
  await requireTask(call, taskId);
  const config = readPushConfig(request, version);
  const { result } = await kernel.dispatch(createPushConfig, caller, { taskId, config });
  return present(call, result);
}

export async function getTaskPushNotificationConfig(
  call: Call,
  { taskId, id }: GetTaskPushNotificationConfigRequest,
): Promise<TaskPushNotificationConfigJson> {
  await requireTask(call, taskId);
  return present(call, await getPushConfig(call.kernel, call.caller, taskId, id));
}

/** A task has few of them, so there is one page, and no token for another. */
export async function listTaskPushNotificationConfigs(
  call: Call,
  { taskId, pageToken }: ListTaskPushNotificationConfigsRequest,
): Promise<ListTaskPushNotificationConfigsResponseJson> {
  await requireTask(call, taskId);
  const found = await listPushConfigs(call.kernel, call.caller, taskId);
  if (pageToken !== "") {
    throw new InvalidParams([{ field: "pageToken", description: "is not one that was given out" }]);
  }
  return { configs: found.map((config) => present(call, config)), nextPageToken: "" };
}

export async function deleteTaskPushNotificationConfig(
  call: Call,
  { taskId, id: configId }: DeleteTaskPushNotificationConfigRequest,
): Promise<Record<string, never>> {
  await requireTask(call, taskId);
  await call.kernel.dispatch(deletePushConfig, call.caller, { taskId, configId });
  return {};
}

/** As a config comes in a call of its own, or along with a message. */
export function readPushConfig(
  { id, url, token, authentication }: TaskPushNotificationConfig,
  version: ProtocolVersion,
  path?: string,
): PushConfigInput {
  return {
    id: id || undefined,
    url,
    token: token || undefined,
    authentication: authentication && {
      scheme: authentication.scheme,
      credentials: authentication.credentials || undefined,
    },
    version,
    path,
  };
}

/** An agent that sends no notifications has no webhooks, whatever the task. */
async function requireTask(call: Call, taskId: string): Promise<void> {
  requirePush(call);
  await visibleTask(call, taskId);
}

export function requirePush(call: Call): void {
  if (!addressed(call).card.pushNotifications) {
    throw new OpvsError(
      "PUSH_NOTIFICATION_NOT_SUPPORTED",
      "Push notifications are not supported by this agent.",
    );
  }
  requireName(call, "Push notifications are");
}

/** The URL as it was given, as long as it is used; then what may be kept of it. */
function present({ kernel }: Call, config: PushConfigRecord): TaskPushNotificationConfigJson {
  const { config_id, task_id, url, auth_scheme } = config;
  return {
    id: config_id,
    taskId: task_id,
    url: openPushConfig(kernel, config)?.url ?? url,
    ...(auth_scheme === null ? {} : { authentication: { scheme: auth_scheme } }),
  };
}

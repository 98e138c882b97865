/** The four operations about webhooks. A token and credentials go in and never come out: only the scheme is shown. */

import type {
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponseJson,
  TaskPushNotificationConfig,
  TaskPushNotificationConfigJson,
} from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { createPushConfig, type PushConfigInput } from "../../kernel/commands/create-push-config.ts";
import { deletePushConfig } from "../../kernel/commands/delete-push-config.ts";
import { HarnessError, notFound } from "../../kernel/errors.ts";
import { getPushConfig, listPushConfigs, openPushConfig } from "../../kernel/queries/push-configs.ts";
import { findVisible } from "../../kernel/queries/read.ts";
import type { PushConfigRecord } from "../../kernel/resources/push-config.ts";
import type { Call, ProtocolVersion } from "./call.ts";

export type PushCall = Pick<Call, "kernel" | "caller" | "agent" | "version">;

export async function createTaskPushNotificationConfig(
  call: PushCall,
  request: TaskPushNotificationConfig,
): Promise<TaskPushNotificationConfigJson> {
  const { kernel, caller, version } = call;
  const { taskId } = request;
  await assertOfAgent(call, taskId);
  const config = readPushConfig(request, version);
  const { result } = await kernel.dispatch(createPushConfig, caller, { taskId, config });
  return present(call, result);
}

export async function getTaskPushNotificationConfig(
  call: PushCall,
  { taskId, id }: GetTaskPushNotificationConfigRequest,
): Promise<TaskPushNotificationConfigJson> {
  await assertOfAgent(call, taskId);
  return present(call, await getPushConfig(call.kernel, call.caller, taskId, id));
}

/** A task has few of them, so there is one page, and no token for another. */
export async function listTaskPushNotificationConfigs(
  call: PushCall,
  { taskId, pageToken }: ListTaskPushNotificationConfigsRequest,
): Promise<ListTaskPushNotificationConfigsResponseJson> {
  await assertOfAgent(call, taskId);
  const found = await listPushConfigs(call.kernel, call.caller, taskId);
  if (pageToken !== "") {
    throw new HarnessError("invalid_request", "pageToken is not one that was given out.", {
      param: "pageToken",
    });
  }
  return { configs: found.map((config) => present(call, config)), nextPageToken: "" };
}

export async function deleteTaskPushNotificationConfig(
  call: PushCall,
  { taskId, id: configId }: DeleteTaskPushNotificationConfigRequest,
): Promise<Record<string, never>> {
  await assertOfAgent(call, taskId);
  await call.kernel.dispatch(deletePushConfig, call.caller, { taskId, configId });
  return {};
}

/** As a config comes in a call of its own, or along with a message. */
export function readPushConfig(
  { id, url, token, authentication }: TaskPushNotificationConfig,
  version: ProtocolVersion,
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
  };
}

/** At the endpoint of an agent the tasks of others are not there. */
async function assertOfAgent({ kernel, caller, agent }: PushCall, taskId: string): Promise<void> {
  if (agent === null) return;
  const task = await findVisible(kernel.store, caller, "task", taskId);
  if (task?.agent.name !== agent) throw notFound("task", taskId);
}

/** The URL as it was given, as long as it is used; then what may be kept of it. */
function present({ kernel }: PushCall, config: PushConfigRecord): TaskPushNotificationConfigJson {
  const { config_id, task_id, url, auth_scheme } = config;
  return {
    id: config_id,
    taskId: task_id,
    url: openPushConfig(kernel, config)?.url ?? url,
    ...(auth_scheme === null ? {} : { authentication: { scheme: auth_scheme } }),
  };
}

/** The methods of 0.3's JSON-RPC, each with the operation that it is called in 1.0. */

import type { JsonObject } from "@bufbuild/protobuf";
import { findConfig, shown, type V03Call } from "./calls.ts";
import { showCard } from "./card.ts";
import { defined, member, members, refused } from "./fields.ts";
import { readSendMessage, readWebhook } from "./requests.ts";
import { showConfig, showEvent, showTask } from "./results.ts";

/** Null where the method is none of 0.3. */
export function v03Method(name: string): V03Call<JsonObject> | null {
  return v03Methods.get(name) ?? null;
}

export const v03Methods: ReadonlyMap<string, V03Call<JsonObject>> = new Map(
  Object.entries<V03Call<JsonObject>>({
    "message/send": {
      kind: "answer",
      run: async (perform, params) => showEvent(await perform("SendMessage", readSendMessage(params))),
    },
    "message/stream": {
      kind: "stream",
      alwaysStreams: false,
      run: async (perform, params) =>
        shown(await perform("SendStreamingMessage", readSendMessage(params)), showEvent),
    },
    "tasks/get": {
      kind: "answer",
      run: async (perform, params) =>
        showTask(await perform("GetTask", members(params, ["id", "historyLength"]))),
    },
    "tasks/cancel": {
      kind: "answer",
      run: async (perform, params) =>
        showTask(await perform("CancelTask", members(params, ["id", "metadata"]))),
    },
    "tasks/resubscribe": {
      kind: "stream",
      alwaysStreams: true,
      run: async (perform, params) =>
        shown(await perform("SubscribeToTask", members(params, ["id"])), showEvent),
    },
    "tasks/pushNotificationConfig/set": {
      kind: "answer",
      run: async (perform, params) => {
        const webhook = readWebhook(member(params, "pushNotificationConfig"), "pushNotificationConfig");
        const taskId = textOf(params, "taskId");
        return showConfig(await perform("CreateTaskPushNotificationConfig", { ...webhook, taskId }));
      },
    },
    "tasks/pushNotificationConfig/get": {
      kind: "answer",
      run: async (perform, params) => {
        const configId = member(params, "pushNotificationConfigId");
        const id = configId === undefined ? "" : textOf(params, "pushNotificationConfigId");
        return showConfig(await findConfig(perform, textOf(params, "id"), id));
      },
    },
    "tasks/pushNotificationConfig/list": {
      kind: "answer",
      run: async (perform, params) => {
        const { configs = [] } = await perform("ListTaskPushNotificationConfigs", {
          taskId: textOf(params, "id"),
        });
        return configs.map(showConfig);
      },
    },
    "tasks/pushNotificationConfig/delete": {
      kind: "answer",
      run: async (perform, params) => {
        const request = defined({
          taskId: textOf(params, "id"),
          id: textOf(params, "pushNotificationConfigId"),
        });
        await perform("DeleteTaskPushNotificationConfig", request);
        return null;
      },
    },
    "agent/getAuthenticatedExtendedCard": {
      kind: "answer",
      run: async (perform) => showCard(await perform("GetExtendedAgentCard", {})),
    },
  }),
);

/** Said by the name that 0.3 has for it, which is another than that of 1.0. */
function textOf(params: JsonObject, name: string): string {
  const text = member(params, name);
  if (typeof text === "string" && text !== "") return text;
  throw refused(name, "must be a text that is not empty");
}

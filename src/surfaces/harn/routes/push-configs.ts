/** The webhooks of a task, for whoever has to find out why one of them hears nothing. They are registered over OPVS. */

import { listPushConfigs } from "../../../kernel/push/push-configs.ts";
import { presentPage } from "../lists.ts";
import { presentPushConfig } from "../present.ts";
import { type Route, route } from "../route.ts";
import { ListOf } from "../schemas.ts";
import { PushConfig } from "../schemas-push.ts";

export const pushConfigRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/tasks/{task_id}/push-configs",
    operationId: "listTaskPushConfigs",
    scope: "tasks:read",
    summary: "List the webhooks of a task, oldest first, with how telling them goes.",
    tag: "Tasks",
    response: ListOf(PushConfig),
    async handle(call) {
      const data = await listPushConfigs(call, call.caller, call.param("task_id"));
      return await presentPage({ data, nextCursor: null }, presentPushConfig);
    },
  }),
];

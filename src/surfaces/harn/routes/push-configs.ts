/** The webhooks of a task, for whoever has to find out why one of them hears nothing. They are registered over OPVS. */

import { Type } from "typebox";
import { listPushConfigs } from "../../../kernel/push/push-configs.ts";
import { presentPage } from "../lists.ts";
import { presentPushConfig } from "../present.ts";
import { type Route, route } from "../route.ts";
import { Envelope, Nullable } from "../schema-pieces.ts";
import { ListOf } from "../schemas.ts";

const Count = Type.Integer({ minimum: 0 });

export const PushConfig = Envelope("push_config", {
  workspace_id: Type.String(),
  session_id: Type.String(),
  task_id: Type.String(),
  config_id: Type.String(),
  url: Type.String(),
  auth_scheme: Nullable(Type.String()),
  protocol_version: Type.String(),
  state: Type.Enum(["active", "ended", "failed"]),
  delivered_through_event_id: Type.String(),
  delivered_count: Count,
  attempts: Count,
  next_attempt_at: Nullable(Type.String({ format: "date-time" })),
  last_error: Nullable(Type.String()),
});

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

/**
 * A server whose webhooks may be on this machine, and a second door at which a test asks for the operations about them:
 * POST /<operation> with `{ caller?, agent?, version?, request }`. The environment says the rest:
 *
 *   PUSH_STRICT   only public addresses, as by default
 *   PUSH_BACKOFF  how failed deliveries are tried again, as JSON
 *   RETAIN_MS     how long what ended is kept
 */

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { fromJson } from "@bufbuild/protobuf";
import {
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  TaskPushNotificationConfigSchema,
} from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { sendMessage } from "../../src/kernel/commands/send-message.ts";
import { HarnessError } from "../../src/kernel/errors.ts";
import { eventId } from "../../src/kernel/events.ts";
import { textPart } from "../../src/kernel/resources/message.ts";
import { createLogger } from "../../src/logger.ts";
import { type Caller, systemCaller } from "../../src/policy/caller.ts";
import { type Render, startWebhooks } from "../../src/runtime/webhooks/webhooks.ts";
import { startServer } from "../../src/server.ts";
import {
  createTaskPushNotificationConfig,
  deleteTaskPushNotificationConfig,
  getTaskPushNotificationConfig,
  listTaskPushNotificationConfigs,
  type PushCall,
  readPushConfig,
} from "../../src/surfaces/opvs/push-configs.ts";
import type { Json } from "./client.ts";

const { PUSH_STRICT, PUSH_BACKOFF, RETAIN_MS, BRIDLE_API_KEY = null } = process.env;
const { values } = parseArgs({ options: { port: { type: "string" }, data: { type: "string" } } });
const server = await startServer({
  port: Number(values.port),
  dataDirectory: values.data ?? "",
  apiKey: BRIDLE_API_KEY,
  allowPrivateAddresses: PUSH_STRICT === undefined,
  retainMs: RETAIN_MS === undefined ? null : Number(RETAIN_MS),
});
const { kernel } = server;

/** Enough to see what was told, and in which order. */
const render: Render = async (event, version) => {
  if (event.event !== "task.status_changed") return [];
  const update = { taskId: event.resource.id, status: event.payload.to, event_id: eventId(event.position) };
  return version === "1.0" ? [{ statusUpdate: update }] : [{ kind: "status-update", ...update }];
};
const stopWebhooks = await startWebhooks({
  kernel,
  logger: createLogger("warn"),
  publicUrl: () => server.url,
  render,
  ...(PUSH_BACKOFF === undefined ? {} : { backoff: JSON.parse(PUSH_BACKOFF) }),
});

const operations: Record<string, (call: PushCall, request: Json) => Promise<unknown>> = {
  create: (call, request) =>
    createTaskPushNotificationConfig(call, fromJson(TaskPushNotificationConfigSchema, request)),
  get: (call, request) =>
    getTaskPushNotificationConfig(call, fromJson(GetTaskPushNotificationConfigRequestSchema, request)),
  list: (call, request) =>
    listTaskPushNotificationConfigs(call, fromJson(ListTaskPushNotificationConfigsRequestSchema, request)),
  delete: (call, request) =>
    deleteTaskPushNotificationConfig(call, fromJson(DeleteTaskPushNotificationConfigRequestSchema, request)),
  async send({ caller, version }, { text, agent, config, trace }) {
    const { result } = await kernel.dispatch(sendMessage, caller, {
      agent,
      contextId: null,
      taskId: null,
      message: { role: "user", parts: [textPart(text)] },
      trace: trace ?? null,
      pushConfig: readPushConfig(fromJson(TaskPushNotificationConfigSchema, config), version),
    });
    return result;
  },
};

async function perform(request: IncomingMessage): Promise<unknown> {
  const body: Json = JSON.parse(Buffer.concat(await request.toArray()).toString());
  const admin = systemCaller("tenant_default");
  const caller: Caller = { ...admin, ...body.caller };
  if (Array.isArray(body.caller?.scopes)) caller.scopes = new Set(body.caller.scopes);
  const call: PushCall = { kernel, caller, agent: body.agent ?? null, version: body.version ?? "1.0" };
  return await operations[request.url?.slice(1) ?? ""]?.(call, body.request);
}

const control = createServer(async (request, response) => {
  try {
    response.end(JSON.stringify(await perform(request)));
  } catch (error) {
    const refusal =
      error instanceof HarnessError
        ? { code: error.code, param: error.param, message: error.message }
        : { code: "fault", message: String(error) };
    response.writeHead(400).end(JSON.stringify({ error: refusal }));
  }
}).listen(0, "127.0.0.1", () => {
  process.stdout.write(`CONTROL http://127.0.0.1:${(control.address() as AddressInfo).port}\n`);
  process.stdout.write(`  URL       ${server.url}\n`);
});

process.once("SIGINT", async () => {
  control.closeAllConnections();
  control.close();
  await stopWebhooks();
  await server.stop(1000);
  process.exit(0);
});

/** Connectors: create, read, change, delete; and the door through which their deliveries come in. */

import type { FastifyRequest } from "fastify";
import { Webhook, WebhookVerificationError } from "standardwebhooks";
import { createConnector } from "../../../kernel/connectors/create-connector.ts";
import { deleteConnector } from "../../../kernel/connectors/delete-connector.ts";
import { deliver, refuseDelivery } from "../../../kernel/connectors/receive-delivery.ts";
import { updateConnector } from "../../../kernel/connectors/update-connector.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { getRecord, listLive } from "../../../kernel/core/read.ts";
import { parseJson } from "../../json-body.ts";
import { traceIn } from "../../trace-headers.ts";
import { presentPage } from "../lists.ts";
import { presentConnector } from "../present.ts";
import { jsonObject, jsonValue } from "../read-input.ts";
import { pathParam, type Route, route } from "../route.ts";
import { JsonObject } from "../schema-pieces.ts";
import { ListOf, pageQuery } from "../schemas.ts";
import {
  Connector,
  CreateConnectorRequest,
  DeliveryAnswer,
  dedupeWindowDefault,
  UpdateConnectorRequest,
} from "../schemas-knowledge.ts";
import { signedRoute } from "../signed-route.ts";

const tag = "Connectors";
const webhookIdCharsMax = 255;
/** What a delivery for nobody is checked against, so that it takes as long as one for somebody. */
const nobodysSecret = `whsec_${Buffer.alloc(32).toString("base64")}`;

export const connectorRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/connectors",
    operationId: "listConnectors",
    scope: "connectors:read",
    summary: "List connectors, newest first.",
    tag,
    query: pageQuery("workspace_id"),
    response: ListOf(Connector),
    async handle(call) {
      const { workspace_id: workspaceId, cursor, limit } = call.query;
      return presentPage(
        await listLive(call, call.caller, "connector", { workspaceId, cursor, limit }),
        presentConnector,
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/connectors",
    operationId: "createConnector",
    scope: "connectors:write",
    summary: "Create a connector. Its signing secret is shown this once.",
    tag,
    status: 201,
    body: CreateConnectorRequest,
    response: Connector,
    async handle(call) {
      const { body } = call;
      const { record, secret } = await call.dispatch(createConnector, {
        workspaceId: body.workspace_id,
        status: body.status ?? "ACTIVE",
        event_kinds: body.event_kinds ?? [],
        dedupe_policy: dedupePolicy(body.dedupe_policy ?? dedupeWindowDefault),
        target_persona_id: body.target_persona_id ?? null,
        target_session_id: body.target_session_id ?? null,
        metadata: jsonObject(body.metadata) ?? {},
      });
      return { ...presentConnector(record), secret };
    },
  }),
  route({
    method: "GET",
    path: "/v1/connectors/{connector_id}",
    operationId: "getConnector",
    scope: "connectors:read",
    summary: "Read a connector.",
    tag,
    response: Connector,
    async handle(call) {
      return presentConnector(await getRecord(call, call.caller, "connector", call.param("connector_id")));
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/connectors/{connector_id}",
    operationId: "updateConnector",
    scope: "connectors:write",
    summary: "Change a connector: pause it, wake it, send its tasks elsewhere.",
    tag,
    body: UpdateConnectorRequest,
    response: Connector,
    async handle(call) {
      const { status, event_kinds, dedupe_policy, target_persona_id, target_session_id, metadata } =
        call.body;
      const changes = {
        ...(status === undefined ? {} : { status }),
        ...(event_kinds === undefined ? {} : { event_kinds }),
        ...(dedupe_policy === undefined ? {} : { dedupe_policy: dedupePolicy(dedupe_policy) }),
        ...(target_persona_id === undefined ? {} : { target_persona_id }),
        ...(target_session_id === undefined ? {} : { target_session_id }),
        ...(metadata === undefined ? {} : { metadata: jsonObject(metadata) ?? {} }),
      };
      const connectorId = call.param("connector_id");
      return presentConnector(await call.dispatch(updateConnector, { connectorId, changes }));
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/connectors/{connector_id}",
    operationId: "deleteConnector",
    scope: "connectors:write",
    summary: "Delete a connector and its secret.",
    tag,
    status: 204,
    async handle(call) {
      await call.dispatch(deleteConnector, { connectorId: call.param("connector_id") });
    },
  }),
  signedRoute({
    path: "/v1/connectors/{connector_id}/deliveries",
    operationId: "deliverToConnector",
    summary:
      "Take a signed delivery, which becomes a task. A delivery that was taken before is answered with 200.",
    tag,
    status: 202,
    body: JsonObject,
    response: DeliveryAnswer,
    async handle(kernel, request, reply, text) {
      const opened = await kernel.operations.openConnector(pathParam(request, "connector_id"));
      const isGenuine = isSigned(text, request, opened?.secret ?? nobodysSecret);
      if (opened === null || !isGenuine) {
        throw new HarnessError(
          "unauthenticated",
          "The delivery has no signature that this connector's secret made in the last five minutes.",
        );
      }
      const webhookId = headerOf(request, "webhook-id");
      let body: unknown;
      try {
        body = parseBody(webhookId, text);
      } catch (error) {
        if (error instanceof HarnessError)
          await refuseDelivery(kernel, opened.connector, webhookId.slice(0, webhookIdCharsMax), error);
        throw error;
      }
      const delivery = { webhookId, text, body: jsonValue(body) ?? null, trace: traceIn(request.headers) };
      const { received, deduped } = await deliver(kernel, opened.connector, delivery);
      const { deliveryId: delivery_id, taskIds: task_ids } = received;
      const task_id = task_ids[0] ?? null;
      return reply
        .code(deduped ? 200 : 202)
        .send({ object: "connector_delivery", delivery_id, task_id, task_ids, deduped });
    },
  }),
];

/** What else the policy says is not understood here, and not kept. */
function dedupePolicy({ window_seconds }: { window_seconds: number }): { window_seconds: number } {
  return { window_seconds };
}

/** Standard Webhooks, in constant time, not older or younger than five minutes. */
function isSigned(text: string, request: FastifyRequest, secret: string): boolean {
  const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
  const headers = Object.fromEntries(names.map((name) => [name, headerOf(request, name)]));
  try {
    new Webhook(secret).verify(text, headers, { jsonParse: false });
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

function headerOf(request: FastifyRequest, name: string): string {
  const value = request.headers[name];
  return typeof value === "string" ? value : "";
}

function parseBody(webhookId: string, text: string): unknown {
  if (webhookId.length > webhookIdCharsMax) {
    throw new HarnessError("invalid_request", `A webhook-id has 1 to ${webhookIdCharsMax} characters.`, {
      param: "webhook-id",
    });
  }
  return parseJson(text);
}

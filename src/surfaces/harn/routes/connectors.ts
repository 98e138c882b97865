/** Connectors: create, read, change, delete; and the door through which their deliveries come in. */

import type { Static } from "typebox";
import { recordFailure } from "../../../kernel/connectors/connector-health.ts";
import { createConnector } from "../../../kernel/connectors/create-connector.ts";
import { deleteConnector } from "../../../kernel/connectors/delete-connector.ts";
import { deliver, type Received } from "../../../kernel/connectors/receive-delivery.ts";
import { updateConnector } from "../../../kernel/connectors/update-connector.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { getRecord, listLive } from "../../../kernel/core/read.ts";
import type { ConnectorSettings } from "../../../kernel/kinds/connector.ts";
import { traceIn } from "../../trace-headers.ts";
import { providerOf } from "../delivery-providers.ts";
import { presentPage } from "../lists.ts";
import { presentConnector } from "../present.ts";
import { jsonObject } from "../read-input.ts";
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
        provider: body.provider,
        givenSecret: body.secret,
        ...outputOf(body),
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
        ...outputOf(call.body),
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
      const provider = providerOf(opened?.connector.provider);
      const isGenuine = provider.isSigned(text, request, opened?.secret ?? nobodysSecret);
      if (opened === null || !isGenuine || opened.connector.provider === "polling") {
        throw new HarnessError(
          "unauthenticated",
          "The delivery has no signature that this connector's secret made in the last five minutes.",
        );
      }
      const { connector } = opened;
      const webhookId = provider.idOf(text, request).slice(0, webhookIdCharsMax);
      let read: ReturnType<typeof provider.read>;
      try {
        read = provider.read(text, request);
      } catch (error) {
        if (error instanceof HarnessError) await recordFailure(kernel, connector, webhookId, error);
        throw error;
      }
      const { challenge, id = webhookId, ...said } = read;
      if (challenge !== undefined) return reply.code(200).send(challenge);
      const delivery = { ...said, webhookId: id, text, trace: traceIn(request.headers) };
      const { received, deduped } = await deliver(kernel, connector, delivery);
      if (read.kind === "slash_command") return reply.code(200).send(acknowledged(received));
      return reply.code(deduped ? 200 : 202).send(deliveryAnswer(received, deduped));
    },
  }),
];

function deliveryAnswer({ deliveryId, taskIds, messageId }: Received, deduped: boolean): object {
  const task_id = taskIds[0] ?? null;
  return {
    object: "connector_delivery",
    delivery_id: deliveryId,
    task_id,
    task_ids: taskIds,
    message_id: messageId ?? null,
    deduped,
  };
}

/** Slack shows it to whoever gave the command. */
function acknowledged({ taskIds }: Received): object {
  const [taskId] = taskIds;
  return { response_type: "ephemeral", text: taskId === undefined ? "Accepted." : `Accepted: ${taskId}` };
}

function outputOf({ emits, polling }: Static<typeof UpdateConnectorRequest>): Partial<ConnectorSettings> {
  if (polling === undefined) return emits === undefined ? {} : { emits };
  const { items_path = "", id_path = "id", ...asked } = polling;
  return { ...(emits === undefined ? {} : { emits }), polling: { ...asked, items_path, id_path } };
}

/** What else the policy says is not understood here, and not kept. */
function dedupePolicy({ window_seconds }: { window_seconds: number }): { window_seconds: number } {
  return { window_seconds };
}

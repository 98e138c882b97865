/** `/openapi.json`, generated from the route table and the schemas that validate requests. */

import type { TSchema } from "typebox";
import { describedScopes } from "../../policy/caller.ts";
import { ReceiptSchema, receiptSchemaVersion } from "../../receipts/schema.ts";
import { tokenPath } from "../addresses.ts";
import { protocolVersion, versionHeader } from "./protocol.ts";
import { publicRoute, type Route } from "./route.ts";
import { JsonObject, Metadata, Timestamp } from "./schema-pieces.ts";
import * as schemas from "./schemas.ts";
import * as approvals from "./schemas-approvals.ts";
import * as audit from "./schemas-audit.ts";
import * as discovery from "./schemas-discovery.ts";
import * as keys from "./schemas-keys.ts";
import * as knowledge from "./schemas-knowledge.ts";
import * as messages from "./schemas-message.ts";
import * as policy from "./schemas-policy.ts";
import * as receipts from "./schemas-receipt.ts";
import * as sessions from "./schemas-session.ts";
import * as tasks from "./schemas-task.ts";
import * as vaults from "./schemas-vault.ts";
import * as workspaces from "./schemas-workspace.ts";

/** Schemas that have a name in the protocol become components; everywhere else they are referred to. */
const named = new Map<unknown, string>(
  Object.entries({
    ...{ ...schemas, ...messages, ...tasks, ...sessions, ...workspaces, ...approvals, ...keys },
    ...{ Metadata, Timestamp, ...discovery, ...receipts, ...audit, ...knowledge, ...policy, ...vaults },
  }).flatMap(([name, value]): [unknown, string][] =>
    typeof value === "object" && /^[A-Z]/.test(name) && !name.endsWith("Query") ? [[value, name]] : [],
  ),
);

/** The form of a receipt is normative, so the document refers to it where it stands by itself. */
const receiptSchemaPath = `/${receiptSchemaVersion}.schema.json`;
named.set(ReceiptSchema, "Receipt");

export function receiptSchemaRoute(): Route {
  return publicRoute({
    path: receiptSchemaPath,
    operationId: "getReceiptSchema",
    summary: "The JSON Schema of a receipt.",
    tag: "Discovery",
    response: JsonObject,
    handle: async () => ({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: receiptSchemaVersion,
      ...ReceiptSchema,
    }),
  });
}

/** The document describes its own route too, so it is made when somebody first asks for it. */
export function openApiRoute(routes: () => readonly Route[], version: string): Route {
  let document: string | null = null;
  return publicRoute({
    path: "/openapi.json",
    operationId: "getOpenApiDocument",
    summary: "This document.",
    tag: "Discovery",
    response: JsonObject,
    async handle(_request, reply) {
      document ??= JSON.stringify(openApiDocument(routes(), version));
      return reply.type("application/json").send(document);
    },
  });
}

function openApiDocument(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    item[route.method.toLowerCase()] = operation(route);
    paths[route.path] = item;
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Bridle: Harn Agents Protocol",
      version: protocolVersion,
      summary: "A durable agent harness.",
      description: `Served by Bridle ${version}. Send ${versionHeader}: ${protocolVersion} with every request that needs a key.`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearerAuth: [] }, { oauth2ClientCredentials: [] }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearerAuth: { type: "http", scheme: "bearer", description: "An API key or an access token." },
        oauth2ClientCredentials: {
          type: "oauth2",
          description: "An API key is a client: its id is the client_id, the key itself the client_secret.",
          flows: { clientCredentials: { tokenUrl: tokenPath, scopes: describedScopes() } },
        },
        webhookSignature: {
          type: "apiKey",
          in: "header",
          name: "webhook-signature",
          description: "Standard Webhooks: signed together with webhook-id and webhook-timestamp.",
        },
      },
      schemas: Object.fromEntries(
        [...named].map(([schema, name]) => [
          name,
          schema === ReceiptSchema ? { $ref: receiptSchemaPath } : expand(schema),
        ]),
      ),
    },
  };
}

function operation(route: Route): object {
  const { operationId, summary, tag, status } = route;
  return {
    operationId,
    summary,
    tags: [tag],
    ...(route.webSocket === "none" ? {} : { "x-websocket-path": true }),
    ...securityOf(route),
    parameters: parameters(route),
    ...(route.body === null ? {} : { requestBody: requestBody(route.body, route) }),
    responses: {
      [status]: success(route),
      default: { description: "The protocol's error.", ...json(schemas.ErrorResponse) },
    },
  };
}

function securityOf({ isPublic, isSigned, scope }: Route): object {
  if (isPublic) return { security: [] };
  if (isSigned) return { security: [{ webhookSignature: [] }] };
  return scope === null ? {} : { security: [{ bearerAuth: [scope] }, { oauth2ClientCredentials: [scope] }] };
}

function success({ response, produces, summary, status, webSocket }: Route): object {
  if (status === 204 || webSocket === "only") return { description: summary };
  if (response !== null) return { description: summary, ...json(response) };
  return {
    description: summary,
    content: { [produces ?? "application/json"]: { schema: { type: "string" } } },
  };
}

function requestBody(schema: TSchema, { bodyOptional, consumes }: Route): object {
  return { required: !bodyOptional, content: { [consumes]: { schema: refer(schema) } } };
}

function json(schema: TSchema): object {
  return { content: { "application/json": { schema: refer(schema) } } };
}

const lastEventId = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  description: "The event after which the stream goes on.",
  schema: { type: "string" },
};

function parameters(route: Route): object[] {
  const { path, query, method, isPublic, isSigned, isUnversioned, webSocket, produces } = route;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const properties: Record<string, unknown> =
    query !== null && "properties" in query ? Object(query.properties) : {};
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema: expand(schema),
  }));
  if (isPublic || isUnversioned) return inPath;
  if (isSigned) return [...inPath, ...signatureHeaders];
  const version = {
    name: versionHeader,
    in: "header",
    // A browser cannot send it with an upgrade.
    required: webSocket !== "only",
    schema: { type: "string", enum: [protocolVersion] },
  };
  const idempotency = {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    schema: { type: "string", minLength: 1, maxLength: 255 },
  };
  const resumed = produces === "text/event-stream" ? [lastEventId] : [];
  return [version, ...inPath, ...inQuery, ...resumed, ...(method === "GET" ? [] : [idempotency])];
}

const signatureHeaders = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => ({
  name,
  in: "header",
  required: true,
  schema: { type: "string" },
}));

function refer(schema: unknown): unknown {
  const name = named.get(schema);
  return name === undefined ? expand(schema) : { $ref: `#/components/schemas/${name}` };
}

function expand(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(refer);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, refer(value)]));
}

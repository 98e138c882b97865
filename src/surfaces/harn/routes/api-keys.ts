/** API keys: make, list, revoke. */

import { createApiKey } from "../../../kernel/access/create-api-key.ts";
import { revokeApiKey } from "../../../kernel/access/revoke-api-key.ts";
import { rotateApiKey } from "../../../kernel/access/rotate-api-key.ts";
import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import { presentPage } from "../lists.ts";
import { presentApiKey } from "../present.ts";
import { route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { ApiKey, ApiKeyWithMade, CreateApiKeyRequest, RotateApiKeyRequest } from "../schemas-keys.ts";

const tag = "API keys";

export const apiKeyRoutes = [
  route({
    method: "GET",
    path: "/v1/api-keys",
    operationId: "listApiKeys",
    scope: "api_keys:read",
    summary: "List API keys, without the keys themselves.",
    tag,
    query: PageQuery,
    response: ListOf(ApiKey),
    async handle(call) {
      return presentPage(await listRecords(call, call.caller, "api_key", call.query), presentApiKey);
    },
  }),
  route({
    method: "POST",
    path: "/v1/api-keys",
    operationId: "createApiKey",
    scope: "api_keys:write",
    summary: "Make an API key. The key is shown this once.",
    tag,
    status: 201,
    body: CreateApiKeyRequest,
    response: ApiKey,
    async handle(call) {
      const { name, actor, scopes, workspace_ids, agent_names, persona_ids, allowed_cidrs } = call.body;
      const { tenant_id, expires_at } = call.body;
      const { record, key } = await call.dispatch(createApiKey, {
        name,
        actor,
        scopes,
        workspaceIds: workspace_ids,
        agentNames: agent_names,
        personaIds: persona_ids,
        allowedCidrs: allowed_cidrs,
        tenantId: tenant_id,
        expiresAt: expires_at,
      });
      return { ...presentApiKey(record), key };
    },
  }),
  route({
    method: "GET",
    path: "/v1/api-keys/{key_id}",
    operationId: "getApiKey",
    scope: "api_keys:read",
    summary: "Read an API key's description.",
    tag,
    response: ApiKey,
    async handle(call) {
      return presentApiKey(await getRecord(call, call.caller, "api_key", call.param("key_id")));
    },
  }),
  route({
    method: "POST",
    path: "/v1/api-keys/{key_id}/rotate",
    operationId: "rotateApiKey",
    summary:
      "Replace the secret of an API key. The new one is shown this once; the old one works for a while.",
    tag,
    scope: "api_keys:write",
    body: RotateApiKeyRequest,
    response: ApiKeyWithMade,
    async handle(call) {
      const { record, key, made } = await call.dispatch(rotateApiKey, {
        keyId: call.param("key_id"),
        overlapSeconds: call.body.overlap_seconds,
      });
      return { ...presentApiKey(record), key, made };
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/api-keys/{key_id}",
    operationId: "revokeApiKey",
    scope: "api_keys:write",
    summary: "Revoke an API key at once, and say what it made.",
    tag,
    response: ApiKeyWithMade,
    async handle(call) {
      const { record, made } = await call.dispatch(revokeApiKey, { keyId: call.param("key_id") });
      return { ...presentApiKey(record), made };
    },
  }),
];

/** Memories: keep, read, search, delete. */

import { createMemory } from "../../../kernel/memory/create-memory.ts";
import { deleteMemory } from "../../../kernel/memory/delete-memory.ts";
import { getMemory, listMemories } from "../../../kernel/memory/read-memories.ts";
import { presentPage } from "../lists.ts";
import { presentMemory } from "../present.ts";
import { jsonObject, jsonValue } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf } from "../schemas.ts";
import { CreateMemoryRequest, Memory, MemoryQuery } from "../schemas-knowledge.ts";

const tag = "Memories";

export const memoryRoutes = [
  route({
    method: "GET",
    path: "/v1/memories",
    operationId: "listMemories",
    scope: "memories:read",
    summary: "List memories, newest first, or search for words in them, best first.",
    tag,
    query: MemoryQuery,
    response: ListOf(Memory),
    async handle(call) {
      const { workspace_id, session_id, owner_id, q, ...query } = call.query;
      const page = await listMemories(call.kernel, call.caller, {
        ...query,
        workspaceId: workspace_id,
        sessionId: session_id,
        ownerId: owner_id,
        text: q,
      });
      return presentPage(page, (memory) => presentMemory(memory, call));
    },
  }),
  route({
    method: "POST",
    path: "/v1/memories",
    operationId: "createMemory",
    scope: "memories:write",
    summary: "Keep a memory.",
    tag,
    status: 201,
    body: CreateMemoryRequest,
    response: Memory,
    async handle(call) {
      const { body } = call;
      const memory = await call.dispatch(createMemory, {
        scope: body.scope,
        ownerId: body.owner_id,
        workspaceId: body.workspace_id,
        key: body.key,
        content: jsonValue(body.content) ?? null,
        provenance: jsonObject(body.provenance) ?? {},
        expiresAt: body.expires_at,
        embeddingRef: body.embedding_ref,
        visibility: body.visibility,
        redactionPolicy: jsonObject(body.redaction_policy),
        confidence: body.confidence,
        metadata: jsonObject(body.metadata),
      });
      return presentMemory(memory, call);
    },
  }),
  route({
    method: "GET",
    path: "/v1/memories/{memory_id}",
    operationId: "getMemory",
    scope: "memories:read",
    summary: "Read a memory.",
    tag,
    response: Memory,
    async handle(call) {
      const memory = await getMemory(call.kernel, call.caller, call.param("memory_id"));
      return presentMemory(memory, call);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/memories/{memory_id}",
    operationId: "deleteMemory",
    scope: "memories:write",
    summary: "Delete a memory.",
    tag,
    status: 204,
    async handle(call) {
      await call.dispatch(deleteMemory, { memoryId: call.param("memory_id"), reason: "requested" });
    },
  }),
];

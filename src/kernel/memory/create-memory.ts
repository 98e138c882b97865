/** Keep a memory for a persona, a session, a workspace or the tenant. */

import type { JsonObject, JsonValue } from "../../store/port.ts";
import { requireWholeTenant } from "../access/authorize.ts";
import { timestamp } from "../core/clock.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import {
  artifactOf,
  isExpired,
  type MemoryOwner,
  type MemoryRecord,
  memoryIdOf,
  redactedMembers,
} from "../kinds/memory.ts";
import type { Visibility } from "../kinds/resource.ts";
import { emitMemory } from "./memories.ts";

export interface CreateMemory {
  scope: MemoryOwner["scope"];
  ownerId: string;
  /** For a persona's memory: in which workspace it knows this; in all of them when left out. */
  workspaceId?: string | null | undefined;
  key?: string | null | undefined;
  content: JsonValue;
  provenance: JsonObject;
  expiresAt?: string | null | undefined;
  embeddingRef?: string | null | undefined;
  visibility?: Visibility | undefined;
  redactionPolicy?: JsonObject | undefined;
  confidence?: number | null | undefined;
  metadata?: JsonObject | undefined;
}

export const createMemory: Command<CreateMemory, MemoryRecord> = {
  name: "create_memory",
  scope: "memories:write",
  decide(unit, request) {
    if (request.content === null)
      throw invalid("content", "content is text, JSON or a reference to an artifact, not null.");
    assertPolicy(request.redactionPolicy ?? {});
    const owner = ownerOf(unit, request);
    const key = request.key ?? null;
    if (key !== null) assertKeyIsFree(unit, owner, key);
    const artifactId = artifactOf(request.content);
    if (artifactId !== null) unit.require("artifact", artifactId);
    const content = {
      content: request.content,
      provenance: request.provenance,
      expires_at: request.expiresAt == null ? null : future(unit, request.expiresAt),
      embedding_ref: request.embeddingRef ?? null,
      visibility: request.visibility ?? "public",
      redaction_policy: request.redactionPolicy ?? {},
      confidence: request.confidence ?? null,
      metadata: request.metadata ?? {},
    };
    return emitMemory(unit, owner, key, content);
  },
};

/** What is not known to be taken out would be a promise. */
function assertPolicy(policy: JsonObject): void {
  const { members = [], ...others } = policy;
  const isList = Array.isArray(members) && members.length === redactedMembers({ members }).length;
  if (isList && Object.keys(others).length === 0) return;
  throw new HarnessError(
    "policy_violation",
    'redaction_policy is {"members": [...]}: names of members of the content, with dots between them.',
    { param: "redaction_policy", details: { rule: "not_enforced" } },
  );
}

function ownerOf(unit: Unit, request: CreateMemory): MemoryOwner {
  const { scope, ownerId: owner_id } = request;
  if (request.workspaceId != null && scope !== "persona") {
    throw invalid(
      "workspace_id",
      `A memory of the scope ${scope} is where its owner is; leave workspace_id out.`,
    );
  }
  switch (scope) {
    case "session":
      return { scope, owner_id, workspace_id: unit.require("session", owner_id).workspace_id };
    case "workspace":
      return { scope, owner_id, workspace_id: unit.require("workspace", owner_id).id };
    case "persona": {
      unit.require("persona", owner_id);
      if (request.workspaceId == null) requireWholeTenant(unit.caller, "workspace_id");
      else unit.require("workspace", request.workspaceId);
      return { scope, owner_id, workspace_id: request.workspaceId ?? null };
    }
    case "tenant": {
      if (owner_id !== unit.caller.tenantId)
        throw invalid("owner_id", "The owner of a memory of the scope tenant is the caller's own tenant.");
      requireWholeTenant(unit.caller, "scope");
      return { scope, owner_id, workspace_id: null };
    }
  }
}

function assertKeyIsFree(unit: Unit, owner: MemoryOwner, key: string): void {
  const known = unit.find("memory", memoryIdOf(unit.caller.tenantId, owner, key));
  if (known === undefined || isExpired(known, unit.deps.clock.now())) return;
  throw new HarnessError("conflict", `There is a memory under this key already: ${known.id}.`, {
    param: "key",
    details: { memory_id: known.id },
  });
}

function future(unit: Unit, time: string): string {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw invalid("expires_at", "expires_at is not a time that this server can tell.");
  if (ms <= unit.deps.clock.now()) throw invalid("expires_at", "expires_at is in the past.");
  return timestamp(ms);
}

function invalid(param: string, message: string): HarnessError {
  return new HarnessError("invalid_request", message, { param });
}

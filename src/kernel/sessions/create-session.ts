/** Create a session in a workspace, perhaps bound to a persona, perhaps with messages already in it. */

import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { isExpired } from "../kinds/memory.ts";
import type { MessageInput } from "../kinds/message.ts";
import type { SessionRecord } from "../kinds/session.ts";
import { requireSkill } from "../skills/skills.ts";
import { appendMessage } from "../tasks/tasks.ts";

export interface CreateSession {
  /** The id of the session, and what the client calls it, where it has these before it is created. */
  sessionId?: string | undefined;
  contextId?: string | undefined;
  workspaceId: string;
  personaId?: string | null | undefined;
  initialMessages?: MessageInput[] | undefined;
  memoryIds?: string[] | undefined;
  skillIds?: string[] | undefined;
  vaultIds?: string[] | undefined;
  /** When it is closed by itself. */
  expiresAt?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

export const createSession: Command<CreateSession, SessionRecord> = {
  name: "create_session",
  scope: "sessions:write",
  decide(unit, request) {
    const workspace = unit.require("workspace", request.workspaceId);
    if (request.personaId != null) unit.require("persona", request.personaId);
    const memoryIds = [...new Set(request.memoryIds ?? [])];
    const skillIds = [...new Set(request.skillIds ?? [])];
    for (const id of memoryIds) requireMemory(unit, workspace.id, id);
    for (const id of skillIds) requireSkill(unit, id);
    for (const id of request.vaultIds ?? []) requireVault(unit, id, workspace.id);
    const fresh = unit.envelope("session", "session");
    const envelope = { ...fresh, id: request.sessionId ?? fresh.id };
    const session: SessionRecord = {
      ...envelope,
      metadata: request.metadata ?? {},
      workspace_id: workspace.id,
      state: "ACTIVE",
      persona_id: request.personaId ?? null,
      created_by: unit.caller.actor,
      root_session_id: null,
      parent_session_id: null,
      branch_id: workspace.default_branch_id,
      summary: null,
      expires_at: expiryOf(unit, request.expiresAt),
      memory_ids: memoryIds,
      skill_ids: skillIds,
      ranges: [{ session_id: envelope.id, after: 0, through: null }],
      vault_ids: [...new Set(request.vaultIds)],
      ...(request.contextId === undefined ? {} : { context_id: request.contextId }),
    };
    const created = unit.emit(session, "session.created", { session });
    for (const message of request.initialMessages ?? []) {
      const { id, role } = appendMessage(unit, { session, taskId: null }, message);
      unit.emit(session, "session.message_appended", { message_id: id, role });
    }
    return created;
  },
};

/** In the future, and in the one form that times have. */
export function expiryOf(unit: Unit, given: string | null | undefined): string | null {
  if (given == null) return null;
  const at = Date.parse(given);
  if (at > unit.deps.clock.now()) return new Date(at).toISOString();
  throw new HarnessError("invalid_request", "expires_at must be a time in the future.", {
    param: "expires_at",
  });
}

function requireMemory(unit: Unit, workspaceId: string, id: string): void {
  const memory = unit.require("memory", id);
  if (isExpired(memory, unit.deps.clock.now())) throw notFound("memory", id);
  if (memory.workspace_id === null || memory.workspace_id === workspaceId) return;
  throw new HarnessError("invalid_request", `Memory ${id} belongs to another workspace.`, {
    param: "memory_ids",
  });
}

/** A vault of the session's workspace, or of the whole tenant. */
function requireVault(unit: Unit, id: string, workspaceId: string): void {
  const vault = unit.require("vault", id);
  if (vault.workspace_id === null || vault.workspace_id === workspaceId) return;
  throw new HarnessError("invalid_request", `Vault ${id} is of another workspace than the session.`, {
    param: "vault_ids",
  });
}

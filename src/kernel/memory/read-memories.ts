/** Reading memories: one, a page of them, or those that have the words of a search, best first. */

import { type Caller, mayUse } from "../../policy/caller.ts";
import type { TenantStore } from "../../store/port.ts";
import { isVisible, requireScope } from "../access/authorize.ts";
import { noteContentRead } from "../audit/content-reads.ts";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import { findVisible, getRecord, type Page, pageSizeDefault } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import {
  isExpired,
  type MemoryRecord,
  type MemoryScope,
  memoryScopes,
  memoryStatus,
} from "../kinds/memory.ts";

export interface MemoryFilter {
  scope?: MemoryScope | undefined;
  ownerId?: string | undefined;
  workspaceId?: string | undefined;
  sessionId?: string | undefined;
  text?: string | undefined;
  cursor?: string | undefined;
  limit?: number | undefined;
}

export async function getMemory(deps: KernelDeps, caller: Caller, id: string): Promise<MemoryRecord> {
  const memory = await getRecord(deps, caller, "memory", id);
  if (isExpired(memory, deps.clock.now())) throw notFound("memory", id);
  await noteRead(deps, caller);
  return memory;
}

export async function listMemories(
  deps: KernelDeps,
  caller: Caller,
  filter: MemoryFilter,
): Promise<Page<MemoryRecord>> {
  requireScope(caller, "memories:read");
  const { ownerId, sessionId } = filter;
  const isEmpty = ownerId !== undefined && sessionId !== undefined && ownerId !== sessionId;
  const { workspaceId } = filter;
  const isVisibleThere =
    workspaceId === undefined ||
    (await findVisible(deps.store, caller, "workspace", workspaceId)) !== undefined;
  if (isEmpty || !isVisibleThere) return { data: [], nextCursor: null };
  await noteRead(deps, caller);
  const owner = ownerId ?? sessionId;
  const now = deps.clock.now();
  const isShown = (memory: MemoryRecord) =>
    isVisible(caller, memory) &&
    !isExpired(memory, now) &&
    (owner === undefined || memory.owner_id === owner) &&
    (sessionId === undefined || memory.scope === "session") &&
    (workspaceId === undefined || memory.workspace_id === workspaceId);
  const page =
    filter.text === undefined
      ? await listPage(deps.store.of(caller.tenantId), caller, filter, owner)
      : await searchPage(deps.store.of(caller.tenantId), caller, { ...filter, text: filter.text }, owner);
  return { ...page, data: page.data.filter(isShown) };
}

/** Those of all owners together: a search goes through them all. */
async function noteRead(deps: KernelDeps, caller: Caller): Promise<void> {
  await noteContentRead(deps, caller, { kind: "tenant", id: caller.tenantId }, "memories");
}

async function listPage(
  store: TenantStore,
  caller: Caller,
  { scope, workspaceId, cursor, limit = pageSizeDefault }: MemoryFilter,
  ownerId: string | undefined,
): Promise<Page<MemoryRecord>> {
  const found = await store.list({
    kind: "memory",
    by: ownerId !== undefined ? { ownerId } : workspaceId !== undefined ? { workspaceId } : undefined,
    workspaceIds: caller.workspaceIds ?? undefined,
    // What a memory says may be hidden from the caller; that there is one is not.
    statuses: statusesOf(scope, [true, false]),
    order: "newest_first",
    beyond: cursor === undefined ? undefined : decodeCursor("memory", cursor),
    limit: limit + 1,
  });
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(({ body }) => body as MemoryRecord),
    nextCursor: found.length > limit && last !== undefined ? encodeCursor("memory", last) : null,
  };
}

async function searchPage(
  store: TenantStore,
  caller: Caller,
  { scope, workspaceId, text, cursor, limit = pageSizeDefault }: MemoryFilter & { text: string },
  ownerId: string | undefined,
): Promise<Page<MemoryRecord>> {
  // Whoever may not read what is internal must not find out by searching for it.
  const visibilities = mayUse(caller, "events:read_internal") ? [true, false] : [true];
  const found = await store.search({
    kind: "memory",
    text,
    workspaceIds: workspaceId === undefined ? (caller.workspaceIds ?? undefined) : [workspaceId],
    ownerIds: ownerId === undefined ? undefined : [ownerId],
    statuses: statusesOf(scope, visibilities),
    beyond: cursor === undefined ? undefined : decodeScore(cursor),
    limit: limit + 1,
  });
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(({ body }) => body as MemoryRecord),
    nextCursor: found.length > limit && last !== undefined ? encodeScore(last) : null,
  };
}

export function statusesOf(scope: MemoryScope | undefined, visibilities: readonly boolean[]): string[] {
  const scopes = scope === undefined ? memoryScopes : [scope];
  return scopes.flatMap((each) => visibilities.map((isPublic) => memoryStatus(each, isPublic)));
}

function encodeScore({ score, id }: { score: number; id: string }): string {
  return Buffer.from(JSON.stringify(["memory search", score, id])).toString("base64url");
}

function decodeScore(cursor: string): { score: number; id: string } {
  const [name, score, id] = parsed(cursor);
  if (name === "memory search" && typeof score === "number" && typeof id === "string") return { score, id };
  throw new HarnessError("invalid_request", "The cursor is not one that this search gave out.", {
    param: "cursor",
  });
}

function parsed(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

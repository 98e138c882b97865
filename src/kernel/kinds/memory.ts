/**
 * A memory: what a persona, a session, a workspace or a tenant knows beyond one conversation. It has no part in any
 * transcript.
 *
 * A memory with a key has an id made of that key and its owner, so that writing the key again changes the one memory
 * that there is. Deleted, it keeps its id and loses its content.
 */

import { hash } from "node:crypto";
import { textsIn } from "../../policy/redact/texts-in.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { KernelEvent } from "../core/events.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource, Visibility } from "./resource.ts";

export const memoryScopes = ["persona", "session", "workspace", "tenant"] as const;
export type MemoryScope = (typeof memoryScopes)[number];

/** Whose it is, and in which workspace; what is in none is known in the whole tenant. */
export interface MemoryOwner {
  scope: MemoryScope;
  owner_id: string;
  workspace_id: string | null;
}

export interface MemoryContent {
  content: JsonValue;
  provenance: JsonObject;
  expires_at: string | null;
  embedding_ref: string | null;
  visibility: Visibility;
  redaction_policy: JsonObject;
  confidence: number | null;
  metadata: JsonObject;
}

export interface MemoryRecord extends Resource<"memory">, MemoryOwner, MemoryContent {
  key: string | null;
  deleted_at: string | null;
}

export type MemoryDeletion = "requested" | "expired";

/** A memory that comes back begins anew. */
export type MemoryChanges = MemoryContent & { created_at?: string };

const changeable: MembersOf<MemoryChanges> = {
  content: true,
  provenance: true,
  expires_at: true,
  embedding_ref: true,
  visibility: true,
  redaction_policy: true,
  confidence: true,
  metadata: true,
  created_at: true,
};

export function foldMemory(memory: MemoryRecord, event: KernelEvent): MemoryRecord {
  const at = event.createdAt;
  switch (event.event) {
    case "vendor.bridle.memory.updated":
      return { ...memory, ...picked(event.payload.changes, changeable), deleted_at: null, updated_at: at };
    case "vendor.bridle.memory.deleted":
      return { ...memory, content: null, deleted_at: at, updated_at: at };
    default:
      return memory;
  }
}

export function memoryIdOf(
  tenantId: string,
  { scope, owner_id, workspace_id }: MemoryOwner,
  key: string,
): string {
  const name = JSON.stringify([tenantId, scope, owner_id, workspace_id, key]);
  return `memory_${hash("sha256", name, "hex").slice(0, 32)}`;
}

/** From this moment on nobody sees it, whether or not it has been swept away yet. */
export function isExpired({ expires_at }: MemoryRecord, now: number): boolean {
  return expires_at !== null && Date.parse(expires_at) <= now;
}

/** What it is listed by: its scope, and whether everybody who may see it may see what it says. */
export function memoryStatus(scope: MemoryScope, isPublic: boolean): string {
  return isPublic ? scope : `${scope}:internal`;
}

export function statusOfMemory({ scope, visibility, deleted_at }: MemoryRecord): string {
  return deleted_at === null ? memoryStatus(scope, visibility === "public") : "deleted";
}

/** What it is searched by. Of an artifact only the key: its content is not here. */
export function textOfMemory({
  key,
  deleted_at,
  ...memory
}: Pick<MemoryRecord, "key" | "deleted_at" | "content" | "redaction_policy">): string | null {
  if (deleted_at !== null) return null;
  const content = withoutMembers(memory);
  const words = artifactOf(content) === null ? textsIn(content) : [];
  return [key ?? "", ...words].join("\n");
}

/** What stands in the place of a member that the policy of a memory takes out. */
const withheld = "[redacted by redaction_policy]";

/** The members that a policy takes out, by their names with dots between them. */
export function redactedMembers(policy: JsonObject): string[] {
  const { members } = policy;
  return Array.isArray(members) ? members.filter((member) => typeof member === "string") : [];
}

/** The content as agents get it, and callers who do not see internal content. */
export function withoutMembers({
  content,
  redaction_policy,
}: Pick<MemoryContent, "content" | "redaction_policy">): JsonValue {
  return redactedMembers(redaction_policy).reduce(
    (rest, member) => withoutMember(rest, member.split(".")),
    content,
  );
}

function withoutMember(value: JsonValue, [name = "", ...rest]: readonly string[]): JsonValue {
  if (Array.isArray(value)) return value.map((item) => withoutMember(item, [name, ...rest]));
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return value;
  const member = rest.length === 0 ? withheld : withoutMember(value[name] ?? null, rest);
  return { ...value, [name]: member };
}

/** The artifact that a content stands for, if it is such a reference. */
export function artifactOf(content: JsonValue): string | null {
  if (typeof content !== "object" || content === null || Array.isArray(content)) return null;
  const { type, artifact_id } = content;
  return type === "artifact_ref" && typeof artifact_id === "string" ? artifact_id : null;
}

export function memoryWakeAt({ expires_at, deleted_at }: MemoryRecord): number | null {
  return expires_at === null || deleted_at !== null ? null : Date.parse(expires_at);
}

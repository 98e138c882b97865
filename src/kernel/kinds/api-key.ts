/** What is kept of an API key: whom it stands for, what it may do, and the hash that recognizes it. */

import type { Scope } from "../../policy/caller.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export interface ApiKeyRecord extends Resource<"api_key"> {
  name: string;
  actor: string;
  scopes: Scope[];
  workspace_ids: string[] | null;
  /** The only agents, personas and addresses that it is for; absent or null means all. */
  agent_names?: string[] | null;
  persona_ids?: string[] | null;
  allowed_cidrs?: string[] | null;
  expires_at: string | null;
  revoked_at: string | null;
  /** The key that made it, which it does not outlive; absent for those that the administrator made. */
  created_by_key_id?: string;
  /** How often it got a new secret; absent for never. */
  rotations?: number;
  /** The secret before the last rotation, which is good for a while yet. */
  previous?: { hash: string; until: string } | null;
  /** To the hour; absent until it is used. */
  last_used_at?: string;
  hash: string;
}

export function foldApiKey(key: ApiKeyRecord, event: KernelEvent): ApiKeyRecord {
  switch (event.event) {
    case "vendor.bridle.api_key.revoked":
      return { ...key, revoked_at: event.createdAt, updated_at: event.createdAt };
    case "vendor.bridle.api_key.rotated": {
      const { hash, previous } = event.payload;
      return { ...key, hash, previous, rotations: (key.rotations ?? 0) + 1, updated_at: event.createdAt };
    }
    case "vendor.bridle.api_key.used":
      return { ...key, last_used_at: event.createdAt };
    default:
      return key;
  }
}

/**
 * A prompt that was delivered, by its ids and its hash, so that it is never delivered again. What it says is in the message
 * that it became.
 */

import { sha256Hex } from "../core/content.ts";
import type { Resource } from "./resource.ts";

export interface HarpPromptRecord extends Resource<"harp_prompt"> {
  workspace_id: string;
  request_id: string;
  prompt_hash: string;
  /** Not members of the record itself: it stays when the log of the task leaves by age. */
  delivered: { session_id: string; task_id: string };
}

export function harpPromptId(tenantId: string, requestId: string): string {
  return `harp_prompt_${sha256Hex(JSON.stringify([tenantId, requestId]))}`;
}

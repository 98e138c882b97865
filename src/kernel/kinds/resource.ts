/** What every top-level resource carries. Records have the protocol's own field names; `tenant_id` is ours. */

import type { JsonObject } from "../../store/port.ts";

export interface Resource<Kind extends string> {
  id: string;
  object: Kind;
  tenant_id: string;
  created_at: string;
  updated_at: string;
  metadata: JsonObject;
  /** Set on what came with the log of another server. */
  imported?: ImportMark;
}

/** Who brought something from another server, and when. What it says happened there, by whom, is that server's word. */
export interface ImportMark {
  by: string;
  at: string;
}

export type Visibility = "public" | "internal" | "receipt_only";

/** What every top-level resource carries. Records have the protocol's own field names; `tenant_id` is ours. */

import type { JsonObject } from "../../store/port.ts";

export interface Resource<Kind extends string> {
  id: string;
  object: Kind;
  tenant_id: string;
  created_at: string;
  updated_at: string;
  metadata: JsonObject;
}

export type Visibility = "public" | "internal" | "receipt_only";

/** A tenant: the outermost boundary. Nothing of one is ever visible to another. */

import type { Resource } from "./resource.ts";

export interface TenantRecord extends Resource<"tenant"> {
  default_workspace_id: string;
  default_persona_id: string;
}

/** A persona: an operational role, and the agent (`entry_workflow`) that fills it. */

import type { Resource } from "./resource.ts";

export interface PersonaRecord extends Resource<"persona"> {
  name: string;
  version: string;
  entry_workflow: string;
  description: string;
  autonomy_tier: "shadow" | "suggest" | "act_with_approval" | "act_auto";
  receipt_policy: "required" | "optional" | "disabled";
}

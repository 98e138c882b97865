/** An outcome: how a task ended, in a sentence, with what it left behind. */

import type { Resource } from "./resource.ts";

export interface Failure {
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

export interface OutcomeRecord extends Resource<"outcome"> {
  workspace_id: string;
  session_id: string;
  task_id: string;
  status: "SUCCEEDED" | "FAILED" | "CANCELED";
  summary: string;
  message_ids: string[];
  failure: Failure | null;
}

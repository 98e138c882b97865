/** Sets of names that a label may have, which the compiler or a list of our own closes. */

import { errorTypes } from "../../kernel/core/errors.ts";
import type { StepSpan } from "../../kernel/core/events.ts";

const kinds = {
  step: true,
  llm: true,
  mcp: true,
  host: true,
  secret: true,
  file: true,
  file_read: true,
  file_list: true,
  tool: true,
  conversation: true,
  effect: true,
  spend: true,
  sleep: true,
  spawn: true,
  handoff: true,
  time: true,
  random: true,
  checkpoint: true,
  progress: true,
  ask: true,
  signal: true,
  approve: true,
  memory: true,
} as const satisfies Record<StepSpan["kind"], true>;

export const stepKinds: ReadonlySet<string> = new Set(Object.keys(kinds));

/** Codes that the harness itself gives to tasks that fail, as far as one would act on them; agents have their own beside them. */
export const ownFailureCodes: ReadonlySet<string> = new Set([
  ...Object.keys(errorTypes),
  ...["agent_error", "rejected", "nondeterministic_run", "outcome_unknown"],
  ...["approval_denied", "approval_used", "approval_mismatch", "approval_expired", "approval_revoked"],
  ...["approval_unverifiable", "replay_dependency_unavailable", "untrusted_card"],
  ...["model_not_configured", "model_refused", "model_unauthorized", "model_rate_limited"],
  ...["model_unavailable", "model_malformed", "model_timeout", "model_output_invalid"],
  ...["mcp_unknown", "mcp_unavailable", "mcp_timeout", "mcp_tool_failed", "mcp_protocol_error"],
  ...["secret_unavailable", "unknown_tool", "invalid_input", "not_carried_out", "environment_gone"],
]);

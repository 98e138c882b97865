/**
 * Which values of a secret state are looked for in everything that its run records. A value that is a word of the record
 * itself must not be: taking "completed" or the beginning of an id out of events would take the record apart, and tell
 * nobody a secret by staying.
 */

import { secretLengthMin } from "../../policy/redact/kinds.ts";
import type { Secret } from "../../policy/redact/redact.ts";
import type { JsonValue } from "../../store/port.ts";

/** Each costs time wherever something is recorded. */
export const protectedMax = 500;

const dayMs = 24 * 60 * 60 * 1000;
/** Times that a record may speak of: deadlines are at most weeks away, retention and expiry may be a year or so. */
const datesAroundMs = 2 * 365 * dayMs;

/**
 * The words of records, names of members and values alike, that are long enough to be taken for a secret. Those of the
 * run's own record (ids, the agent, what the persona allows) are given.
 */
const recordWords = `
  AUTH_REQUIRED CANCELED COMPLETED INPUT_REQUIRED REJECTED SUBMITTED SUCCEEDED accepted act_auto act_with_approval
  after_sha256 agent.handoff agent.memory_read agent.memory_write agent.message agent_error allow_live allowed_models
  application/json application/octet-stream approval_denied approval_policy approved artifact.created artifact.updated
  artifact_hash artifact_ids artifact_ref artifacts assigned_agent_id assistant autonomy_tier before_sha256 branch_id
  canceled_at canceling capabilities capability checkpoint child_task_id com.bridle compactions completed completed_at
  consumed content_type context_id created_at created_by credentials deadline_exceeded decided_at decided_by decision
  default_branch_id default_persona_id default_workspace_id delegation deleted_at description directive directive_id
  entry_workflow environment erased_at event_count event_log exhausted_quota_ids expects_outcome expires_at file_list
  file_read file_ref files.write final_state first_step from_checkpoint from_vault granted_quota_ids handoff_ids
  host_calls host_fact identity image_ref in_receipt input_hash input_schema input_tokens internal internal_error
  into_branch_id invalid_request invalid_state_transition is_replayed is_upload issued_at kept_turn_count keyed_hash
  latency_ms lifecycle llm_provider_response materials max_tokens mcp_tool_return memories memory_ids message_count
  message_ids message_sha256 messages metadata mime_type model_policy module_ref nondeterministic_run on_exhaustion
  operation optional original_event_id outcomes outgoing output_hash output_schema output_tokens override_key owner_id
  parent_session_id parent_step parent_task_id past_versions payload_too_large permission_denied permission_request_id
  permission_requests persona_ref persona_version policy_violation previous_hash previous_receipt_hash progress
  provenance question quorum_proof rate_limited receipt.issued receipt_id receipt_only receipt_policy redacted
  redactions rejected replay.completed replay.failed replay.started replay_input requested_at requested_by required
  requires_user_approval resource_locked resource_not_found restricted reviewer risk_tier root_session_id
  runnable_since service_unavailable session.closed session.created session.message_appended session_id shell_kind
  shell_link shell_version side_effects simulated skill_ids snapshot source_task_id span.completed span.failed
  span.started span.updated started_at status_at status_changed submitted substitutions succeeded task.auth_required
  task.canceled task.completed task.failed task.input_required task.started task.status_changed task.submitted
  task_hash tenant_default tenant_id text/plain timezone tool.approval_required tool.approved tool.denied tool_call_id
  tool_calls tool_result trace_id trimmed_through_event_id unreported updated_at user.cancel_requested
  user.input_submitted user.message user.tool_confirmation vault_ids vendor.bridle.shell_link.created
  vendor.bridle.shell_link.turn_answered vendor.bridle.shell_link.turn_taken visibility wall_time_ms with_artifacts
  with_history with_overrides workspace_default workspace_id workspaces`;

/** `record` is the text of what the run's record says of itself. */
export function protectedValues(state: JsonValue, record: string, now: number): Secret[] {
  const found = new Set<Secret>();
  for (const value of valuesIn(state)) {
    const text = String(value);
    if (text.length < secretLengthMin || recordWords.includes(text) || record.includes(text)) continue;
    if (!isPartOfId(text) && !isDateNear(text, now)) found.add(value);
  }
  return [...found];
}

/** Every text and every number in a value; the names of members say what is secret, and are not. */
function* valuesIn(value: JsonValue): Generator<Secret> {
  if (typeof value === "string" || typeof value === "number") yield value;
  else if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) yield* valuesIn(inner);
  }
}

/** Ids begin with the time of their making and can be foreseen; event ids are mostly zeros. */
function isPartOfId(text: string): boolean {
  return /^(?:[a-z]+_)?0[0-7][0-9A-HJKMNP-TV-Z]{0,24}$/.test(text) || /^(?:evt_)?0+\d*$/.test(text);
}

/** A day, or a moment of it, as records write times. */
function isDateNear(text: string, now: number): boolean {
  if (!/^\d{4}-\d\d-\d\d(?:T[\d:.]*Z?)?$/.test(text)) return false;
  return Math.abs(Date.parse(text.slice(0, "2026-01-01".length)) - now) < datesAroundMs;
}

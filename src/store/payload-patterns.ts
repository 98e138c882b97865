/**
 * What the payloads of the most frequent events look like. The log stores such a payload as its differences from the pattern
 * (`compact-entries.ts`), which takes a fifth of the bytes.
 *
 * Rows on disk name patterns by their index: patterns are only ever appended, and never changed. When the form of an event changes, append
 * a pattern: the last one of an event is used for writing. A payload that fits none is stored as it is.
 *
 * Strings may refer to what is known of an event: `{id}` is the id of its resource, `{tenant}`, `{workspace}`, `{session}`, `{task}`, `{actor}`
 * and `{at}` are columns of its row, and `{=path}` is an earlier value of the same payload.
 */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface PayloadPattern {
  event: string;
  object: string;
  payload: { [key: string]: Json };
}

export const payloadPatterns: readonly PayloadPattern[] = [
  {
    event: "session.created",
    object: "session",
    payload: {
      session: {
        id: "{id}",
        object: "session",
        tenant_id: "{tenant}",
        created_at: "{at}",
        updated_at: "{=session.created_at}",
        metadata: {},
        workspace_id: "{workspace}",
        state: "ACTIVE",
        persona_id: null,
        created_by: "{actor}",
        root_session_id: null,
        parent_session_id: null,
        branch_id: "",
        summary: null,
        expires_at: null,
        memory_ids: [],
        skill_ids: [],
        ranges: [{ session_id: "{id}", after: 0, through: null }],
        vault_ids: [],
      },
    },
  },
  {
    event: "user.message",
    object: "message",
    payload: {
      message: {
        id: "{id}",
        object: "message",
        tenant_id: "{tenant}",
        created_at: "{at}",
        updated_at: "{=message.created_at}",
        metadata: {},
        workspace_id: "{workspace}",
        session_id: "{session}",
        task_id: "{task}",
        role: "user",
        parts: { inline: [{ type: "text", text: "", visibility: "public" }] },
      },
    },
  },
  {
    event: "task.submitted",
    object: "task",
    payload: {
      task: {
        id: "{id}",
        object: "task",
        tenant_id: "{tenant}",
        created_at: "{at}",
        updated_at: "{=task.created_at}",
        metadata: {},
        workspace_id: "{workspace}",
        session_id: "{session}",
        status: "SUBMITTED",
        status_at: "{=task.created_at}",
        assigned_agent_id: null,
        outcome: null,
        started_at: null,
        completed_at: null,
        canceled_at: null,
        failure: null,
        pending: null,
        parked: null,
        granted_quota_ids: [],
        exhausted_quota_ids: [],
        runnable_since: "{=task.created_at}",
        input: { message_id: "" },
        created_by: "{actor}",
        submitter: { actor: "{actor}" },
        persona_id: "persona_default",
        branch_id: "",
        parent_task_id: null,
        parent_step: null,
        agent: { name: "", version: null },
        replay: null,
        policy: { persona_version: "1", autonomy_tier: "act_auto", receipt_policy: "required" },
        quota_ids: [],
      },
    },
  },
  {
    event: "task.status_changed",
    object: "task",
    payload: { from: "SUBMITTED", to: "WORKING", reason: null },
  },
  { event: "task.started", object: "task", payload: { agent: { name: "", version: "1.0.0" } } },
  {
    event: "agent.message",
    object: "message",
    payload: {
      message: {
        id: "{id}",
        object: "message",
        tenant_id: "{tenant}",
        created_at: "{at}",
        updated_at: "{=message.created_at}",
        metadata: {},
        workspace_id: "{workspace}",
        session_id: "{session}",
        task_id: "{task}",
        role: "agent",
        parts: { inline: [{ type: "text", text: "", visibility: "public" }] },
      },
    },
  },
  {
    event: "task.completed",
    object: "task",
    payload: { outcome: { status: "SUCCEEDED", summary: "", message_ids: [""], receipt_id: null } },
  },
  {
    event: "receipt.issued",
    object: "receipt",
    payload: {
      record: {
        id: "{id}",
        object: "receipt",
        tenant_id: "{tenant}",
        created_at: "{at}",
        updated_at: "{=record.created_at}",
        metadata: {},
        workspace_id: "{workspace}",
        session_id: "{session}",
        task_id: "{task}",
        subject: { object: "task", id: "{task}" },
        hash: "",
        previous_hash: "",
        index: 0,
      },
      receipt: {
        inline: {
          schema: "receipt-2026-04-25",
          receipt_id: "{id}",
          subject: { object: "task", id: "{task}" },
          issuer: {
            id: "",
            kind: "harness",
            name: "Bridle",
            version: "agents-protocol-2026-04-25",
            public_key_id: "",
          },
          issued_at: "{=record.created_at}",
          identifiers: {
            tenant_id: "{tenant}",
            persona_ref: "persona_default@1",
            workspace_ref: "{workspace}",
            session_id: "{session}",
            task_id: "{task}",
            branch_id: "",
            trace_id: "",
          },
          lifecycle: {
            created_at: "{=record.created_at}",
            started_at: "{=receipt.inline.lifecycle.created_at}",
            completed_at: "{=record.created_at}",
            final_state: "SUCCEEDED",
            failure: null,
          },
          approvals: [],
          trust: {
            start_tier: "act_auto",
            end_tier: "{=receipt.inline.trust.start_tier}",
            policy_ref: "{=receipt.inline.identifiers.persona_ref}",
          },
          autonomy_budget: {
            consumed: { usd: 0, input_tokens: 0, output_tokens: 0, tool_calls: 0, wall_time_ms: 0 },
          },
          replay_input: {
            determinism: "byte_deterministic",
            materials: [
              {
                kind: "event_log",
                id: "event_log_{task}",
                uri: "/v1/tasks/{task}/events",
                sha256: "",
                content_type: "application/jsonl",
                metadata: { lines: 3 },
              },
            ],
          },
          model_route: {
            chosen_model: { provider: "none", model: "none" },
            alternatives_considered: [],
            route_policy_reason: "no model call was made",
          },
          cost: { currency: "USD", total: 0, provider_breakdown: [] },
          side_effects: { fs_writes: [], network_egress: [], tool_calls: [], a2a_handoffs: [] },
          final_artifacts: [],
          redactions: [
            {
              field: "/replay_input/materials/0/content",
              reason: "kept in the event log",
              proof_hash: "{=receipt.inline.replay_input.materials.0.sha256}",
            },
          ],
          metadata: { submitted_by: { actor: "" }, agent: "" },
          chain: {
            previous_receipt_hash: "{=record.previous_hash}",
            merkle_root: "",
            receipt_hash: "{=record.hash}",
          },
          signatures: [
            { key_id: "{=receipt.inline.issuer.public_key_id}", algorithm: "ed25519", signature: "" },
          ],
        },
      },
    },
  },
];

/**
 * The names that the Harn Agents Protocol gives to events and errors, with what each comes from and the rules whose tests show it; and
 * what of the protocols is not kept. The conformance pages are made from it, and `test/harn/taxonomy.e2e.test.ts` compares it with the code.
 */

/** By a name of the protocol: what brings it about, and the requirements whose tests see it. */
export type Inventory = Record<string, { by: string; ids: readonly string[] }>;

export interface NotKept {
  protocol: "harn" | "opvs" | "openharness" | "harp";
  statement: string;
  because: string;
  instead: string;
}

export const eventKindsProduced: Inventory = {
  "user.message": { by: "a task or a message of a user", ids: ["MSG-1"] },
  "user.input_submitted": { by: "an answer to a question", ids: ["TSK-8"] },
  "user.tool_confirmation": { by: "a decision about a permission request", ids: ["TSK-11", "TAX-17"] },
  "user.cancel_requested": { by: "a cancellation", ids: ["TSK-7"] },
  "agent.message": { by: "what an agent says or returns", ids: ["MSG-1"] },
  "agent.tool_use": { by: "a call of a tool, by the model or by the agent's code", ids: ["TAX-2"] },
  "agent.tool_result": { by: "the end of a tool call, as the agent sees it", ids: ["TAX-2"] },
  "agent.mcp_tool_use": { by: "a call of a tool of an MCP server", ids: ["TAX-2"] },
  "agent.handoff": { by: "a spawned task, or work given to a remote agent", ids: ["TSK-2"] },
  "agent.memory_read": { by: "`ctx.memory.get` and `search`", ids: ["MEM-1"] },
  "agent.memory_write": { by: "`ctx.memory.put`", ids: ["MEM-1"] },
  "task.submitted": { by: "every way to submit a task", ids: ["TSK-1"] },
  "task.started": { by: "the start of its run", ids: ["TSK-4"] },
  "task.input_required": { by: "`ctx.ask`", ids: ["TSK-8"] },
  "task.auth_required": { by: "`ctx.approve`, and effects that need approval", ids: ["TSK-11"] },
  "task.completed": { by: "the agent's return", ids: ["TSK-10"] },
  "task.failed": { by: "an error that the agent throws, a limit, a broken replay", ids: ["TSK-10"] },
  "task.canceled": { by: "a cancellation", ids: ["TSK-6"] },
  "task.status_changed": { by: "every transition", ids: ["TSK-4"] },
  "session.created": { by: "a new, forked or imported session", ids: ["SES-1"] },
  "session.closed": { by: "`POST /v1/sessions/{id}/close`", ids: ["SES-1"] },
  "session.message_appended": { by: "`POST /v1/sessions/{id}/messages`, `initial_messages`", ids: ["SES-2"] },
  "session.compacted": { by: "`POST /v1/sessions/{id}/compact`", ids: ["SES-3"] },
  "session.truncated": { by: "`POST /v1/sessions/{id}/truncate`", ids: ["SES-3"] },
  "session.thread_forked": { by: "a fork", ids: ["SES-4"] },
  "session.thread_merged": { by: "a merge of a session's branch", ids: ["BRA-1"] },
  "session.replayed": { by: "`POST /v1/sessions/{id}/replay`", ids: ["RPL-1"] },
  "branch.created": { by: "a branch, a fork", ids: ["BRA-1"] },
  "branch.updated": { by: "`PATCH /v1/branches/{id}`", ids: ["BRA-1"] },
  "branch.merged": { by: "`POST /v1/branches/{id}/merge`", ids: ["BRA-1"] },
  "branch.abandoned": { by: "`POST /v1/branches/{id}/abandon`", ids: ["BRA-1"] },
  "artifact.created": { by: "`ctx.artifact`, a registration, an upload", ids: ["ART-1"] },
  "artifact.updated": { by: "chunks of an artifact that is written as a stream", ids: ["ART-1"] },
  "artifact.linked": { by: "a message that refers to an artifact", ids: ["TAX-15"] },
  "artifact.redacted": { by: "the erasure of its session", ids: ["TAX-15"] },
  "span.started": { by: "steps that reach out or wait", ids: ["TAX-5"] },
  "span.updated": { by: "progress, deltas of models, parking", ids: ["TAX-5"] },
  "span.completed": { by: "every step", ids: ["TAX-5"] },
  "span.failed": { by: "a step that failed", ids: ["TAX-2"] },
  "tool.requested": { by: "a call of a tool", ids: ["TAX-2"] },
  "tool.approval_required": { by: "a permission request", ids: ["TAX-2"] },
  "tool.approved": { by: "a permission that is given", ids: ["TSK-11"] },
  "tool.denied": { by: "a permission that is refused, withdrawn or expired", ids: ["TSK-11"] },
  "tool.completed": { by: "a tool call that gave something", ids: ["TAX-2"] },
  "tool.failed": { by: "a tool call that failed, or was refused by the persona", ids: ["TAX-2"] },
  "connector.delivery_received": { by: "a signed delivery", ids: ["CON-3"] },
  "connector.delivery_deduped": { by: "a delivery that came before", ids: ["CON-5"] },
  "connector.normalized": { by: "a signed delivery, an item of a poll", ids: ["CON-3", "CON-10"] },
  "connector.task_submitted": { by: "a delivery that becomes a task", ids: ["CON-3"] },
  "connector.failed": {
    by: "a delivery that cannot become a task, a poll that failed",
    ids: ["CON-6", "CON-12"],
  },
  "receipt.issued": {
    by: "the end of a task, a replay or an approval; a request for a receipt",
    ids: ["RCP-1"],
  },
  "receipt.verified": { by: "`POST /v1/receipts/verify`", ids: ["RCP-1"] },
  "receipt.verification_failed": { by: "`POST /v1/receipts/verify`", ids: ["RCP-1"] },
  "replay.started": { by: "the start of a replay", ids: ["RPL-1"] },
  "replay.completed": { by: "a replay that came to its end", ids: ["RPL-1"] },
  "replay.failed": { by: "a replay that could not", ids: ["RPL-1"] },
};

/** Kinds of the protocol that nothing brings about; each has a note below. */
export const eventKindsNotProduced = ["agent.reasoning_summary", "replay.event_replayed"] as const;

export const errorCodesProduced: Inventory = {
  invalid_request: { by: "malformed requests", ids: ["ERR-2"] },
  invalid_state_transition: { by: "a message to an ended task", ids: ["TSK-8"] },
  unauthenticated: { by: "a missing or wrong key", ids: ["AUT-1"] },
  permission_denied: { by: "a missing scope", ids: ["AUT-2"] },
  resource_not_found: { by: "an unknown id", ids: ["ERR-4"] },
  conflict: { by: "canceling an ended task", ids: ["TSK-7"] },
  resource_locked: { by: "a session that is being erased", ids: ["ERR-6"] },
  idempotency_key_reused: { by: "one key with two bodies", ids: ["IDM-2"] },
  cursor_expired: { by: "a cursor that the log does not have", ids: ["SSE-3"] },
  payload_too_large: { by: "a body beyond the limit", ids: ["ERR-3"] },
  policy_violation: { by: "a persona's policy, a quota's limit", ids: ["PER-4"] },
  unsupported_protocol_version: { by: "a missing or unknown version", ids: ["VER-1"] },
  rate_limited: { by: "a quota's rate, wrong credentials again and again", ids: ["ERR-5"] },
  client_closed_request: { by: "an upload that is broken off; the log of the server has it", ids: ["ERR-5"] },
  internal_error: { by: "a bug", ids: ["ERR-5"] },
  upstream_unavailable: { by: "a trusted issuer or a gateway that does not answer", ids: ["ERR-5"] },
  service_unavailable: { by: "a server that stops, a full disk", ids: ["ERR-5"] },
  deadline_exceeded: { by: "a deadline of a task, a WebSocket without a hello", ids: ["ERR-5"] },
};

export const errorCodesNotProduced = [] as const;

export const conformanceNotes: readonly NotKept[] = [
  {
    protocol: "harn",
    statement: "event `agent.reasoning_summary`",
    because:
      "Bridle keeps no reasoning of models, and what providers return as a summary is not marked as one by all of them",
    instead: "`span.completed` of the model call, without reasoning",
  },
  {
    protocol: "harn",
    statement: "event `replay.event_replayed`",
    because: "it would double the log of every replay",
    instead: "each replayed event itself, with `replayed: true` and where it comes from in `replay`",
  },
  {
    protocol: "harn",
    statement: "`idempotency_key` on events",
    because: "keys are kept as hashes, bound to their caller, and never written to the log",
    instead: "the same answer for a repeated key; `GET /v1/events` without the key",
  },
  {
    protocol: "harn",
    statement: "`session.message_appended` for messages of tasks",
    because: "a message of a task is an event of its own already",
    instead: "`user.message` and `agent.message`, with `task_id`",
  },
  {
    protocol: "harn",
    statement: "session states IDLE and FAILED",
    because:
      "a session that nobody uses costs nothing and works as before; what its content cannot support any more is said by the task",
    instead: "ACTIVE; `policy_violation` where content was erased or has left the log",
  },
  {
    protocol: "harn",
    statement: "a run parks at its next step when its session is paused",
    because:
      "a step that has begun cannot be called back, and a run in memory has nowhere to wait in the middle",
    instead:
      "runs in memory go on to their end or their next long wait; new tasks stay SUBMITTED, and runs that wait stay out of memory",
  },
  {
    protocol: "harn",
    statement: "Persona `evals`, and `require_evals` of `rollout_policy`",
    because:
      "there are no evaluation suites to name: agents are tested with `bridle/testing` and `bridle check`",
    instead: "422 `policy_violation`, naming the member",
  },
  {
    protocol: "harn",
    statement: "context packs of a workspace",
    because: "packs are part of the project, which is reviewed; a workspace has memories and files",
    instead: "422 `policy_violation` for a name that the project does not have",
  },
  {
    protocol: "harn",
    statement:
      "Workspace `host`, `repository`, `connectors`, `network_policy`, `sandbox_backend`, `image`, `packages`",
    because: "they are the server's, and not a workspace's own",
    instead: "422 `policy_violation`, naming the member and what to use",
  },
  {
    protocol: "harn",
    statement: "card members `persona_ids` and `quotas`",
    because: "the card is public, and says nothing of tenants",
    instead: "`/v1/personas`, `/v1/quotas`",
  },
  {
    protocol: "harn",
    statement: "providers of connectors and vaults beside those in the guides",
    because: "each speaks an API of its own, and one that is not tested against it is a promise",
    instead: "400, naming what there is",
  },
  {
    protocol: "harn",
    statement: "Receipt has `id`, `object`, `created_at`, `updated_at`",
    because: "a receipt is the signed document itself, and its schema is normative",
    instead: "`receipt_id`, `subject`, `issued_at`",
  },
  {
    protocol: "harn",
    statement: "`modified` for what is no call of a tool, and by signature",
    because: "other code has its values already, and what is signed is what was shown",
    instead: "422; deny it with a reason, and the agent asks again",
  },
  {
    protocol: "harn",
    statement: "Memory `confidence` and `embedding_ref` act",
    because: "they are the caller's notes: search is by words",
    instead: "the values as they were given",
  },
  {
    protocol: "harn",
    statement: "the determinism fixture, byte for byte",
    because: "its module is in a language that is not Bridle's to run",
    instead: "equal replays on any two Bridle servers have byte-identical receipts",
  },
  {
    protocol: "harn",
    statement: "423 `resource_locked` for sessions that are imported or compacted, and for tasks",
    because: "writers wait for each other, within bounds, and an import is there whole or not at all",
    instead: "`conflict` or `invalid_state_transition`, by its reason; 423 while a session is being erased",
  },
  {
    protocol: "harp",
    statement: "all messages at the gateway are envelopes",
    because:
      "pairing and presence come before there is a key to seal for, and status, hello and admin calls are between a client and the gateway itself",
    instead: "plain JSON under the same authentication, as the HTTP binding says",
  },
  {
    protocol: "harp",
    statement: "a `requestId` on each message",
    because: "a page of an inbox, and an error about no exchange, are about no request",
    instead: '`requestId: "-"`',
  },
  {
    protocol: "harp",
    statement: "a decision is idempotent by request, key and nonce alone",
    because: "two different signed decisions under one nonce are an attack or a bug, and not a repeat",
    instead: "409 for the same nonce with another decision, hash or signature",
  },
  {
    protocol: "opvs",
    statement: "GetTaskPushNotificationConfig gives all of the configuration",
    because: "a token or credentials that can be read can be stolen",
    instead: "the URL and the authentication scheme, without `token` and `credentials`",
  },
  {
    protocol: "opvs",
    statement: "large payloads in parts become artifacts",
    because:
      "an agent reads the bytes of its message where they were sent, and a reference would be another part than the client's",
    instead:
      "the part as it was sent, up to the limit of a body; it is stored once, outside of the event, and is read back as `raw`",
  },
  {
    protocol: "opvs",
    statement: "repeated query parameters",
    because: "no operation has a repeated field in its query",
    instead: "invalid params, naming the parameter that was given more than once",
  },
  {
    protocol: "opvs",
    statement: "a stream closes at every interrupted state",
    because: "7.6.1 asks servers to keep it open while authorization is awaited",
    instead: "it closes at INPUT_REQUIRED and stays open at AUTH_REQUIRED",
  },
  {
    protocol: "opvs",
    statement: "a message in AUTH_REQUIRED approves, corrects or rejects",
    because:
      "what is said in a conversation is no authorization; whoever may talk to an agent may not thereby approve what it does",
    instead:
      "the message is taken and kept in the history; decisions come over `/v1/permission-requests`, the console or HARP",
  },
  {
    protocol: "opvs",
    statement: "InvalidAgentResponseError",
    because:
      "what an agent gives is checked when it is recorded; what cannot be shown never comes into an answer",
    instead: "a task that FAILED, with the reason",
  },
  {
    protocol: "opvs",
    statement: "agents resolve `referenceTaskIds`",
    because: "which tasks an agent may read is the caller's right, and not the agent's",
    instead: "the ids, as `ctx.message.referenceTaskIds`",
  },
  {
    protocol: "opvs",
    statement:
      "artifacts of several parts, a message on the final status, a message or a task for each request",
    because:
      "an artifact is one document, what an agent says is in the history, and clients can rely on one form of answer for an agent",
    instead: "one artifact for each part; messages in the history; `answersWithMessage` on the card",
  },
  {
    protocol: "opvs",
    statement: "a repeated message is new work once its task has ended",
    because: "a client that lost the answer cannot know whether the task has ended",
    instead: "for a day, the same message is the same task; give a new `messageId` for new work",
  },
  {
    protocol: "openharness",
    statement: "locale and time zone change what is said",
    because: "the engine's own words are few and in English, and what agents say is theirs",
    instead: "`ctx.shell.identity` has both, for agents to follow",
  },
  {
    protocol: "openharness",
    statement: "a terminal renders `render_ui` and `simulate_action`",
    because: "a terminal has neither widgets nor a surface to act on",
    instead: "`bridle shell` shows the directive's fallback text and reports it as shown",
  },
  {
    protocol: "openharness",
    statement: "a continuation that names a run needs no token",
    because: "the token is what shows that the run is the shell's",
    instead: "`continuation_invalid`",
  },
];

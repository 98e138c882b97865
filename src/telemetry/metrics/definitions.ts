/**
 * Every metric of the server, as data: what is served at /metrics and what docs/reference/metrics.md lists are both made from
 * this. Names are those of Prometheus: base units, `_total` for what only grows. Labels are closed sets, or names of what is
 * loaded here; whatever else there is, is `other` (`labels.ts`).
 */

type Name = `bridle_${string}`;

export interface Definition {
  type: "counter" | "gauge" | "histogram";
  name: Name;
  help: string;
  labels: readonly string[];
  buckets?: readonly number[];
}

function counter<const Labels extends readonly string[]>(name: Name, help: string, labels: Labels) {
  return { type: "counter", name, help, labels } as const;
}

function gauge<const Labels extends readonly string[]>(name: Name, help: string, labels: Labels) {
  return { type: "gauge", name, help, labels } as const;
}

function histogram<const Labels extends readonly string[]>(
  name: Name,
  help: string,
  labels: Labels,
  buckets: readonly number[],
) {
  return { type: "histogram", name, help, labels, buckets } as const;
}

/** An answer without waiting takes 1 to 50 ms, one that waits for a task up to the half minute that clients are given. */
const answerSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30];
/** From a task of a few milliseconds to one that waits for a person over a weekend. */
const taskSeconds = [0.01, 0.1, 1, 10, 60, 600, 3600, 21_600, 86_400, 259_200];
/** A task starts at once or waits for a place; beyond a minute somebody notices. */
const queueSeconds = [0.01, 0.05, 0.25, 1, 5, 30, 120, 600];
/** A short answer takes a second, a long thought minutes; a call is given up after ten. */
const modelSeconds = [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** A commit is an fsync: a quarter of a millisecond on a good disk, 10 on a bad one; a second means that something is wrong. */
const commitSeconds = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];
/** Up to the most that one transaction takes. */
const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Told by the log. */
export const workMetrics = {
  tasksSubmitted: counter("bridle_tasks_submitted_total", "Tasks that were accepted.", ["agent"]),
  tasksEnded: counter("bridle_tasks_ended_total", "Tasks that ended, by how: completed, failed, canceled.", [
    "agent",
    "status",
  ]),
  taskFailures: counter(
    "bridle_task_failures_total",
    "Tasks that failed, by the code of the failure. Codes of an agent's own are other.",
    ["code"],
  ),
  taskSeconds: histogram(
    "bridle_task_duration_seconds",
    "From a task's submission to its end, waits for people included.",
    ["status"],
    taskSeconds,
  ),
  taskQueueSeconds: histogram(
    "bridle_task_queue_seconds",
    "From a task's submission to the start of its first run.",
    [],
    queueSeconds,
  ),
  steps: counter(
    "bridle_steps_total",
    "Steps of runs by kind and outcome: completed, failed, simulated; and retried, for each attempt that is repeated.",
    ["kind", "outcome"],
  ),
  modelCalls: counter(
    "bridle_model_calls_total",
    "Model calls that ended: completed, or failed, with every model that was tried (provider and model are none then).",
    ["provider", "model", "outcome"],
  ),
  modelAttempts: counter(
    "bridle_model_attempts_total",
    "How often models were asked for these calls. More than calls means retries or fallbacks.",
    ["provider", "model"],
  ),
  modelTokens: counter(
    "bridle_model_tokens_total",
    "Tokens of these calls, by direction: input, output. Tokens from a cache are in input.",
    ["provider", "model", "direction"],
  ),
  modelDollars: counter(
    "bridle_model_cost_dollars_total",
    "US dollars of these calls, as far as prices are known.",
    ["provider", "model"],
  ),
  modelSeconds: histogram(
    "bridle_model_call_duration_seconds",
    "From the beginning of a model call to its end, with all attempts.",
    ["provider", "model"],
    modelSeconds,
  ),
  toolCalls: counter(
    "bridle_tool_calls_total",
    "Calls of tools that ended, by tool (of MCP servers: mcp:server) and outcome: completed, failed, simulated.",
    ["tool", "outcome"],
  ),
  questions: counter("bridle_questions_total", "Questions to people: asked, answered.", ["event"]),
  approvals: counter(
    "bridle_approvals_total",
    "Requests for permission: requested, approved, denied (by a person, by time, or because the task ended).",
    ["event"],
  ),
  receipts: counter("bridle_receipts_issued_total", "Receipts that were signed.", []),
  replays: counter("bridle_replays_total", "Replays: started, completed, failed.", ["event"]),
  handoffs: counter("bridle_handoffs_total", "Work that was given to remote agents.", []),
  webhooks: counter(
    "bridle_webhook_notifications_total",
    "Webhooks: notifications that were delivered, attempts that failed and are repeated, webhooks that were given_up.",
    ["event"],
  ),
  connectors: counter(
    "bridle_connector_deliveries_total",
    "Deliveries to connectors: received, accepted, ignored, deduped, failed.",
    ["event"],
  ),
  schedules: counter("bridle_schedules_fired_total", "Times that a schedule was due.", []),
  quotas: counter("bridle_quota_exhausted_total", "Times that a quota came to its limit.", [
    "scope",
    "limit",
  ]),
} satisfies Record<string, Definition>;

export const requestMetrics = {
  requests: counter(
    "bridle_http_requests_total",
    "HTTP requests that were answered, by the template of the address (none where nothing is) and class of status. WebSockets are not among them.",
    ["method", "route", "status"],
  ),
  requestSeconds: histogram(
    "bridle_http_request_duration_seconds",
    "How long answers took. Streams are not among them: they last as long as somebody listens.",
    ["method", "route"],
    answerSeconds,
  ),
  authFailures: counter(
    "bridle_auth_failures_total",
    "Credentials that were refused, by reason: unknown_key, wrong_secret, revoked, expired, invalid_token, not_allowed.",
    ["reason"],
  ),
  inFlight: gauge(
    "bridle_http_requests_in_flight",
    "HTTP requests that are being answered, streams included.",
    [],
  ),
  calls: counter("bridle_grpc_calls_total", "gRPC calls that ended, by method and code.", ["method", "code"]),
  callSeconds: histogram(
    "bridle_grpc_call_duration_seconds",
    "How long gRPC calls took that are not streams.",
    ["method"],
    answerSeconds,
  ),
  streams: gauge("bridle_streams_open", "Streams that are open, by transport: sse, websocket, grpc.", [
    "transport",
  ]),
} satisfies Record<string, Definition>;

export const storeMetrics = {
  commitSeconds: histogram(
    "bridle_store_commit_duration_seconds",
    "How long the writer took to have a group of batches on disk, by store: log, gateway.",
    ["store"],
    commitSeconds,
  ),
  groupSize: histogram("bridle_store_commit_batches", "Batches that shared a commit.", ["store"], groupSizes),
  batchesFailed: counter("bridle_store_batches_failed_total", "Batches that the disk did not take.", [
    "store",
  ]),
  writable: gauge(
    "bridle_store_writable",
    "1 while commits reach the disk, 0 after one failed until a write succeeds again.",
    ["store"],
  ),
  fileBytes: gauge(
    "bridle_store_file_bytes",
    "Size of the files of a store: database, wal. Large content beside it is not counted.",
    ["store", "file"],
  ),
  freeBytes: gauge("bridle_data_free_bytes", "Room that is left on the disk of the data directory.", []),
  logPosition: gauge(
    "bridle_log_position",
    "The last position of the log: how many events there have been since it began.",
    [],
  ),
} satisfies Record<string, Definition>;

export const serverMetrics = {
  ready: gauge("bridle_ready", "1 when the server takes new work, as /ready says, otherwise 0.", []),
  runs: gauge("bridle_runs_active", "Runs in memory.", []),
  runsMax: gauge("bridle_runs_max", "Runs that may be in memory at once (--concurrency).", []),
  tasksReady: gauge("bridle_tasks_ready", "Tasks that could run and wait for a place in memory.", []),
  build: gauge("bridle_build_info", "Always 1; its labels say what runs.", ["version", "node_version"]),
  failures: counter(
    "bridle_metrics_failures_total",
    "Things that were not counted because counting failed.",
    [],
  ),
} satisfies Record<string, Definition>;

export const catalogue: readonly Definition[] = [
  workMetrics,
  requestMetrics,
  storeMetrics,
  serverMetrics,
].flatMap((group) => Object.values<Definition>(group));

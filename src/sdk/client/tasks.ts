/** Tasks: submitted, followed, answered, waited for. */

import { errorOf } from "./errors.ts";
import { type Followed, type FollowOptions, follow } from "./follow.ts";
import { readLines } from "./json-lines.ts";
import { createListed, type Listed } from "./lists.ts";
import { inputOf, messageOf, personaOf, type Said } from "./messages.ts";
import type { Sessions } from "./sessions.ts";
import { segment, type Transport } from "./transport.ts";
import type {
  BridleEvent,
  CallOptions,
  Message,
  PageOptions,
  PushConfig,
  ReplayTaskRequest,
  Task,
  TaskExplanation,
  TaskStatus,
  WriteOptions,
} from "./types.ts";

export interface SubmitTask extends WriteOptions {
  /** A new session is made for it unless given. */
  sessionId?: string;
  workspaceId?: string;
  /** Whose task it is; the session's own persona, or the server's default, unless one of the two is given. */
  personaId?: string;
  /** An agent by its name, as the persona that came with it. */
  agent?: string;
  input: Said;
  metadata?: Record<string, unknown>;
}

export interface WaitOptions extends CallOptions {
  /** After this it gives up with `DeadlineExceeded`. The task goes on. */
  timeoutMs?: number;
}

export interface ListTasks extends PageOptions {
  workspaceId?: string;
  sessionId?: string;
  /** With one of these, the tasks whose status changed last come first. */
  status?: TaskStatus;
  agent?: string;
  /** Only tasks whose status changed then or later. */
  since?: Date | string;
}

/** Newest first. */
export interface Tasks extends Listed<Task, ListTasks> {
  submit(request: SubmitTask): Promise<Task>;
  get(id: string, options?: CallOptions): Promise<Task>;
  /** In one sentence for a person, why it waits or ended, and what would help. */
  why(id: string, options?: CallOptions): Promise<TaskExplanation>;
  /** The task once it has ended, or waits for a person. */
  wait(id: string, options?: WaitOptions): Promise<Task>;
  cancel(id: string, options?: WriteOptions & { reason?: string }): Promise<Task>;
  /** What the task asked for. Text is sent as text, anything else as JSON. */
  answer(id: string, answer: unknown, options?: WriteOptions): Promise<Message>;
  /** Every event of the task, once and in order, until it has ended. */
  events(id: string, options?: FollowOptions): AsyncGenerator<BridleEvent, void, undefined>;
  /** Its webhooks, oldest first, with how their deliveries go. */
  webhooks(id: string, options?: CallOptions): Promise<PushConfig[]>;
  /** Its log, line by line: a file that it can be replayed from. */
  export(id: string, options?: CallOptions): AsyncGenerator<string, void, undefined>;
  /** Sends a signal, which the agent's code waits for with `ctx.waitFor`. */
  signal(id: string, name: string, payload?: unknown, options?: WriteOptions): Promise<Task>;
  /** A new task that keeps what a failed or canceled one recorded, up to the step that failed or to `fromStep`. */
  retry(id: string, options?: WriteOptions & { fromStep?: string }): Promise<Task>;
  replay(id: string, request?: ReplayTaskRequest, options?: WriteOptions): Promise<Task>;
}

const defaultWaitMs = 10 * 60 * 1000;
const endings: ReadonlySet<string> = new Set(["task.completed", "task.failed", "task.canceled"]);
const questions: ReadonlySet<string> = new Set(["task.input_required", "task.auth_required"]);
const finalStatuses: ReadonlySet<TaskStatus> = new Set(["COMPLETED", "FAILED", "CANCELED"] as const);
const askingStatuses: ReadonlySet<TaskStatus> = new Set(["INPUT_REQUIRED", "AUTH_REQUIRED"] as const);

export function isFinal({ status }: Pick<Task, "status">): boolean {
  return finalStatuses.has(status);
}

export function createTasks(transport: Transport, sessions: Sessions): Tasks {
  const at = (id: string) => `/v1/tasks/${segment(id)}`;
  const post = (path: string, body: object, { idempotencyKey, signal }: WriteOptions) =>
    transport.resource<Task>("task", path, { method: "POST", body, idempotencyKey, signal });
  const get: Tasks["get"] = (id, { signal } = {}) => transport.resource<Task>("task", at(id), { signal });
  const events: Tasks["events"] = (id, options = {}) =>
    follow(transport, taskStream(transport, id, at(id), options), options);

  return {
    ...createListed<Task, ListTasks>(transport, "/v1/tasks", filtersOf),
    submit: (request) => submitTask(transport, sessions, request),
    get,
    why(id, { signal } = {}) {
      return transport.resource<TaskExplanation>("task_explanation", `${at(id)}/why`, { signal });
    },
    wait: (id, { timeoutMs = defaultWaitMs, signal } = {}) =>
      within(id, timeoutMs, signal, (either) => untilSettled({ get, events }, sessions, id, either)),
    cancel: (id, { reason, ...options } = {}) => post(`${at(id)}/cancel`, { reason }, options),
    answer(id, answer, { idempotencyKey, signal } = {}) {
      const body = { kind: "input", message: messageOf(answer) };
      const ask = { method: "POST", body, idempotencyKey, signal } as const;
      return transport.resource<Message>("message", `${at(id)}/messages`, ask);
    },
    events,
    async webhooks(id, { signal } = {}) {
      return (await transport.page<PushConfig>(`${at(id)}/push-configs`, { signal })).items;
    },
    export: (id, options = {}) => readLines(transport, `${at(id)}/export`, options),
    signal: (id, name, payload = null, options = {}) => post(`${at(id)}/signals`, { name, payload }, options),
    retry: (id, { fromStep, ...options } = {}) => post(`${at(id)}/retry`, { from_step: fromStep }, options),
    replay: (id, request = {}, options = {}) => post(`${at(id)}/replay`, request, options),
  };
}

function filtersOf({ workspaceId, sessionId, status, agent, since }: ListTasks) {
  return {
    workspace_id: workspaceId,
    session_id: sessionId,
    status,
    agent,
    since: since instanceof Date ? since.toISOString() : since,
  };
}

/** The stream of a task, which ends with the task. */
function taskStream(transport: Transport, id: string, path: string, { signal }: FollowOptions): Followed {
  return {
    path: `${path}/stream`,
    isEnding: ({ event, resource }) => resource.id === id && endings.has(event),
    async isOver(lastId) {
      if (!isFinal(await transport.resource<Task>("task", path, { signal }))) return false;
      const query = { task_id: id, after_event_id: lastId, limit: 1 };
      const { items, nextCursor } = await transport.page("/v1/events", { query, signal });
      return items.length === 0 && nextCursor === null;
    },
  };
}

async function submitTask(transport: Transport, sessions: Sessions, request: SubmitTask): Promise<Task> {
  const { sessionId, workspaceId, personaId, agent, input, metadata, signal } = request;
  const idempotencyKey = request.idempotencyKey ?? crypto.randomUUID();
  const newSession = {
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(signal === undefined ? {} : { signal }),
    // A repetition under the same key is the same task, in the same session.
    idempotencyKey: `${idempotencyKey}:session`,
  };
  const body = {
    session_id: sessionId ?? (await sessions.create(newSession)).id,
    workspace_id: workspaceId,
    persona_id: personaId ?? (agent === undefined ? undefined : personaOf(agent)),
    input: inputOf(input),
    metadata,
  };
  return await transport.resource<Task>("task", "/v1/tasks", {
    method: "POST",
    body,
    idempotencyKey,
    signal,
  });
}

async function within<T>(
  id: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = AbortSignal.timeout(timeoutMs);
  try {
    return await run(signal === undefined ? late : AbortSignal.any([signal, late]));
  } catch (error) {
    signal?.throwIfAborted();
    if (!late.aborted) throw error;
    const message = `Task ${id} did not end or ask anything within ${timeoutMs} ms; it continues.`;
    throw errorOf({ code: "deadline_exceeded", message, status: null, requestId: null });
  }
}

async function untilSettled(
  { get, events }: Pick<Tasks, "get" | "events">,
  sessions: Sessions,
  id: string,
  signal: AbortSignal,
): Promise<Task> {
  const { session_id } = await get(id, { signal });
  // The cursor first, then the task: whatever the task does after it was read comes after the cursor.
  const { last_event_id } = await sessions.get(session_id, { signal });
  const task = await get(id, { signal });
  if (isSettled(task)) return task;
  for await (const { event, resource } of events(id, { after: last_event_id ?? undefined, signal })) {
    if (resource.id !== id || !(endings.has(event) || questions.has(event))) continue;
    const found = await get(id, { signal });
    if (isSettled(found)) return found;
  }
  return await get(id, { signal });
}

function isSettled(task: Task): boolean {
  return isFinal(task) || askingStatuses.has(task.status);
}

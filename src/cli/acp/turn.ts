/** One prompt: a task, or the answer to one that asked, shown as it happens until it ends or needs the next prompt. */

import {
  type AgentContext,
  type ContentBlock,
  type CreateElicitationRequest,
  methods,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { answerIn, questionForm } from "../../kernel/tasks/question-forms.ts";
import { errorOf } from "../../sdk/client/errors.ts";
import type { BridleEvent, EventPayloads, MessageInput, Task } from "../../sdk/client/index.ts";
import { isRefusal, type Remote } from "../remote.ts";
import { Asking } from "./asking.ts";
import { partsOf } from "./content.ts";
import { say } from "./say.ts";
import { toolCallIdOf, Updates } from "./updates.ts";

/** How long a server may be away before the prompt fails: time for a restart, not for an outage. */
const awayMsMax = 60_000;

type Question = EventPayloads["task.input_required"]["request"];

/** A task that has not ended, and the last of its events that was shown. */
export interface OpenTask {
  id: string;
  after: string | undefined;
}

export interface TurnOptions {
  remote: Remote;
  client: AgentContext;
  sessionId: string;
  /** Whether the editor shows forms. */
  hasForms: boolean;
}

export class Turn {
  readonly #options: TurnOptions;
  readonly #updates: Updates;
  /** Aborted when there is nothing more to follow. */
  readonly #over = new AbortController();
  readonly #asking = new Asking();
  /** Steps whose approval the editor shows. */
  readonly #approvals = new Set<string>();
  #open: OpenTask | null;
  #isCanceled = false;
  /** What went wrong beside the stream. */
  #failure: unknown = null;

  constructor(options: TurnOptions, open: OpenTask | null) {
    this.#options = options;
    this.#open = open;
    this.#updates = new Updates(options.remote.url);
  }

  /** What is left for the next prompt. */
  get open(): OpenTask | null {
    return this.#open;
  }

  /** The headers go with the task, if there will be one. */
  async run(prompt: readonly ContentBlock[], headers: Record<string, string>): Promise<StopReason> {
    const { remote } = this.#options;
    const before = this.#open === null ? null : await this.#catchUp(this.#open);
    const parts = await partsOf(prompt, remote, this.#over.signal);
    if (before?.waiting_for?.kind === "input") {
      const problem = await this.#answer(before.id, parts);
      if (problem !== null) return await this.#end("end_turn", problem);
    } else await this.#submit(parts, headers);
    // It may have been given up before it was there.
    if (this.#isCanceled) await this.#cancelTask();
    try {
      return await this.#follow();
    } finally {
      await this.#asking.settled();
    }
  }

  async cancel(): Promise<void> {
    this.#isCanceled = true;
    this.#asking.closeAll();
    await this.#cancelTask();
  }

  /** Stops telling, and leaves the task alone. */
  leave(): void {
    this.#asking.closeAll();
    this.#over.abort();
  }

  async #cancelTask(): Promise<void> {
    if (this.#open === null) return;
    const { remote } = this.#options;
    await remote.json("POST", `/v1/tasks/${this.#open.id}/cancel`, {}).catch((error: Error) => {
      // The end that came first is in the stream; without a server there is none to wait for.
      say(error.message);
      if (!isRefusal(error)) this.#over.abort();
    });
  }

  /** What became of the task that was left open. */
  async #catchUp({ id, after }: OpenTask): Promise<Task> {
    const { remote } = this.#options;
    const path = `/v1/tasks/${encodeURIComponent(id)}/events`;
    for await (const event of remote.items<BridleEvent>(path, after)) {
      await this.#show(id, event);
      if (event.event === "task.failed" && event.resource.id === id) {
        await this.#tell(event.payload.failure.message);
      }
    }
    return await remote.client.tasks.get(id);
  }

  async #submit(parts: MessageInput["parts"], headers: Record<string, string>): Promise<void> {
    const { remote, sessionId } = this.#options;
    const body = { session_id: sessionId, input: { role: "user", parts } };
    const { id } = await remote.json<Task>("POST", "/v1/tasks", body, {
      ...headers,
      "Idempotency-Key": crypto.randomUUID(),
    });
    this.#open = { id, after: undefined };
  }

  /** Returns what is wrong with the answer, or null. */
  async #answer(taskId: string, parts: MessageInput["parts"]): Promise<string | null> {
    const body = { kind: "input", message: { role: "user", parts } };
    try {
      await this.#options.remote.json("POST", `/v1/tasks/${taskId}/messages`, body);
      return null;
    } catch (error) {
      if (isRefusal(error) && error.status < 500) return error.message;
      throw error;
    }
  }

  async #follow(): Promise<StopReason> {
    const { remote } = this.#options;
    const task = this.#open;
    if (task === null) throw new Error("there is no task to follow");
    let giveUp: NodeJS.Timeout | undefined;
    const onConnection = (isConnected: boolean) => {
      if (isConnected) {
        clearTimeout(giveUp);
        giveUp = undefined;
      } else if (giveUp === undefined) {
        say(`The connection to ${task.id} broke; reconnecting.`);
        giveUp = setTimeout(() => this.#fail(serverGone(remote, task.id)), awayMsMax);
      }
    };
    const { signal } = this.#over;
    try {
      for await (const event of remote.client.tasks.events(task.id, {
        after: task.after,
        signal,
        onConnection,
      })) {
        await this.#show(task.id, event);
        const reason = await this.#stopReason(task.id, event);
        if (reason !== null) return reason;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      clearTimeout(giveUp);
    }
    if (this.#failure !== null) throw this.#failure;
    return this.#isCanceled ? "cancelled" : "end_turn";
  }

  /** Why the turn ends with this event; null where it goes on. */
  async #stopReason(taskId: string, event: BridleEvent): Promise<StopReason | null> {
    if (event.resource.id !== taskId) return null;
    switch (event.event) {
      case "task.completed":
      case "task.failed":
      case "task.canceled":
        return await this.#ended(taskId, event);
    }
    if (event.replayed) return null;
    switch (event.event) {
      case "task.input_required": {
        const { request } = event.payload;
        return this.#putForm(taskId, request) ? null : await this.#end("end_turn", questionText(request));
      }
      case "task.auth_required":
        await this.#requestPermission(taskId, event.payload.request);
        return null;
      case "user.input_submitted":
        this.#asking.close(event.payload.step);
        return null;
      case "user.tool_confirmation":
        await this.#confirmed(taskId, event.payload);
        return null;
      default:
        return null;
    }
  }

  async #ended(taskId: string, event: BridleEvent): Promise<StopReason> {
    this.#open = null;
    this.#asking.closeAll();
    if (event.event === "task.canceled") return "cancelled";
    if (event.event !== "task.failed") return "end_turn";
    const { code, message } = event.payload.failure;
    if (code === "rejected") return await this.#end("refusal", message);
    throw new RequestError(-32_603, message, { task_id: taskId, code });
  }

  async #end(reason: StopReason, text: string): Promise<StopReason> {
    await this.#tell(text);
    return reason;
  }

  /** False when there is no form for it: the question is then asked as a message, and the next prompt answers it. */
  #putForm(taskId: string, question: Question): boolean {
    const { client, sessionId, hasForms } = this.#options;
    const form = hasForms ? questionForm(question.schema) : null;
    if (form === null) return false;
    const requestedSchema = { type: "object" as const, ...form };
    const params: CreateElicitationRequest = {
      mode: "form",
      sessionId,
      message: question.prompt,
      requestedSchema,
    };
    const leaveOpen = async (why: string) => {
      await this.#tell(why);
      this.#over.abort();
    };
    this.#asking.put(question.step, {
      ask: async (options) => {
        const response = await client.request(methods.client.elicitation.create, params, options);
        const isAccepted = response.action === "accept";
        const content = isAccepted && "content" in response ? Object(response.content) : {};
        const value = isAccepted ? answerIn(question.schema, content) : undefined;
        if (value === undefined) return await leaveOpen(questionText(question));
        const problem = await this.#answer(taskId, [{ type: "json", value, visibility: "public" }]);
        if (problem !== null) await leaveOpen(problem);
      },
      cannot: () => leaveOpen(questionText(question)),
      failed: (error) => this.#fail(error),
    });
    return true;
  }

  /** Where the persona wants signatures, an editor's word is none. */
  async #requestPermission(taskId: string, question: Question): Promise<void> {
    const { remote, client, sessionId } = this.#options;
    const { waiting_for: now } = await remote.client.tasks.get(taskId);
    if (now?.kind !== "approval") return;
    const { step, prompt, permission_request_id: requestId } = question;
    if (now.signature_required === true) return await this.#tell(`${prompt}\n\n${signatureNeeded}`);
    const path = `/v1/permission-requests/${requestId}/respond`;
    const elsewhere = `It can be approved at ${remote.url}${path}. The task waits.`;
    const toolCallId = toolCallIdOf(taskId, step);
    const toolCall = { toolCallId, title: prompt, kind: "execute", status: "pending" } as const;
    this.#approvals.add(step);
    await this.#update({ sessionUpdate: "tool_call", ...toolCall });
    const params: RequestPermissionRequest = { sessionId, toolCall, options: permissionOptions };
    this.#asking.put(step, {
      ask: async (options) => {
        const { outcome } = await client.request(methods.client.session.requestPermission, params, options);
        if (outcome.outcome === "cancelled") return await this.cancel();
        const approved = outcome.optionId === allowOnce;
        await remote.json("POST", path, { approved }).catch(async (error: Error) => {
          if (!isRefusal(error)) throw error;
          await this.#tell(`${error.message}\n\n${elsewhere}`);
        });
      },
      cannot: () => this.#tell(elsewhere),
      failed: (error) => this.#fail(error),
    });
  }

  async #confirmed(taskId: string, { step, approved }: { step: string; approved: boolean }): Promise<void> {
    this.#asking.close(step);
    if (!this.#approvals.delete(step)) return;
    const status = approved ? "completed" : "failed";
    await this.#update({ sessionUpdate: "tool_call_update", toolCallId: toolCallIdOf(taskId, step), status });
  }

  #fail(error: unknown): void {
    this.#failure = error;
    this.#over.abort();
  }

  async #show(taskId: string, event: BridleEvent): Promise<void> {
    if (this.#open !== null) this.#open = { ...this.#open, after: event.id };
    for (const update of this.#updates.of(taskId, event)) await this.#update(update);
  }

  async #tell(text: string): Promise<void> {
    await this.#update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  async #update(update: SessionUpdate): Promise<void> {
    const { client, sessionId } = this.#options;
    await client.notify(methods.client.session.update, { sessionId, update });
  }
}

const allowOnce = "allow";
const permissionOptions = [
  { optionId: allowOnce, name: "Allow once", kind: "allow_once" as const },
  { optionId: "reject", name: "Reject", kind: "reject_once" as const },
];
const signatureNeeded =
  "This needs the signature of a paired approver, for example with `bridle approver`; an editor cannot give it. The task waits.";

export function questionText({ prompt, schema }: Pick<Question, "prompt" | "schema">): string {
  if (schema === null || schema.type === "string") return prompt;
  return `${prompt}\n\nAnswer with JSON that fits this schema:\n\n${JSON.stringify(schema, null, 2)}`;
}

function serverGone({ url }: Remote, taskId: string): Error {
  const message = `The server at ${url} does not answer. Task ${taskId} goes on when it is back, and the next prompt shows its result.`;
  return errorOf({ code: "connection_failed", message, status: null, requestId: null });
}

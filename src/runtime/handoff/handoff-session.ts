/**
 * One stretch of following a remote agent: what is to be said is said, and what the remote comes to is recorded.
 *
 * Invariants
 *   F1  What is sent was recorded before, with its id; it is sent again with the same id until the remote is known to
 *       have it. A remote that knows its messages by their ids gets one task.
 *   F2  The name of the remote's task is recorded as soon as the remote says it, before anything else is made of it.
 *   F3  Each step of the run that waits is ended once, by a commit that looks whether it still waits.
 */

import type { StreamResponse, Task, TaskStatus } from "@a2a-js/sdk";
import { type Client, type RequestOptions, ServiceParameters, withA2AExtensions } from "@a2a-js/sdk/client";
import { unseal } from "../../kernel/core/content.ts";
import { runCommand } from "../../kernel/core/dispatch.ts";
import { delegationUri, durableCursorUri } from "../../kernel/core/extension-uris.ts";
import { type EndHandoffTurn, endHandoffTurn } from "../../kernel/handoffs/end-handoff-turn.ts";
import { noteHandoff } from "../../kernel/handoffs/note-handoff.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { HandoffChanges, HandoffRecord, Remote } from "../../kernel/kinds/handoff.ts";
import { systemCaller } from "../../policy/caller.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import { pause } from "../../web/pause.ts";
import { networkUses } from "../run/egress.ts";
import { jsonCopy } from "../run/json.ts";
import type { Connection } from "./connect.ts";
import type { Turn } from "./hand-off.ts";
import { hasNoStream, isSettled, RemoteProblem } from "./problems.ts";
import {
  isInterrupted,
  isOver,
  markOf,
  promptOf,
  remoteMessage,
  resultOfMessage,
  resultOfTask,
  stateOf,
} from "./translate.ts";

/** What is asked of a remote that offers it. */
const usedExtensions: readonly string[] = [durableCursorUri, delegationUri];
const requestMsMax = 30_000;
/**
 * How long a remote may take to say that it has what was sent. It is long, because some answer only when they are done, and
 * a remote that does not know its messages by their ids would take a second one for more work.
 */
const sendMsMax = 10 * 60_000;
/** After this long a connection is made anew: it may be dead without saying so, and others may wait. */
const stretchMs = 60_000;
/** How often a remote without a stream is asked, while nothing changes. */
const pollMs = { least: 250, most: 15_000 };
/** Messages looked through for one of ours. */
const historyLength = 50;

export interface FollowingOptions {
  kernel: Kernel;
  handoff: HandoffRecord;
  connection: Connection;
  redactor: Redactor;
  /** Aborted when something has changed about the hand-off, or the server stops. */
  news: AbortSignal;
}

export class HandoffSession {
  readonly #kernel: Kernel;
  readonly #client: Client;
  readonly #connection: Connection;
  readonly #redactor: Redactor;
  readonly #limit = new AbortController();
  readonly #signal: AbortSignal;
  #timer: NodeJS.Timeout | undefined;
  #handoff: HandoffRecord;
  /** The step was ended, or is not this one's any more. */
  #isDone = false;

  constructor({ kernel, handoff, connection, redactor, news }: FollowingOptions) {
    this.#kernel = kernel;
    this.#handoff = handoff;
    this.#connection = connection;
    this.#client = connection.client;
    this.#redactor = redactor;
    this.#signal = AbortSignal.any([news, this.#limit.signal]);
  }

  /** Until the step that waits has ended, or long enough: true when there is more to follow. */
  async go(): Promise<boolean> {
    try {
      if (this.#handoff.outgoing !== null && !(await this.#hasArrived())) await this.#send();
      this.#allow(stretchMs);
      if (!this.#isDone) await this.#watch();
      return false;
    } catch (error) {
      if (!this.#limit.signal.aborted) throw error;
      if (this.#handoff.outgoing === null) return true;
      throw this.#limit.signal.reason;
    } finally {
      clearTimeout(this.#timer);
      this.#limit.abort();
    }
  }

  /** From now on, this long and no longer. */
  #allow(ms: number): void {
    clearTimeout(this.#timer);
    const problem = `The remote agent did not answer within ${ms / 1000} seconds.`;
    const tooLong = new RemoteProblem("remote_unavailable", problem, { isPassing: true });
    this.#timer = setTimeout(() => this.#limit.abort(tooLong), ms);
    this.#timer.unref();
  }

  /** Tells the remote that nobody waits any more. One that has ended, or is not there, need not be told. */
  async cancel(): Promise<void> {
    const id = this.#handoff.remote?.task_id;
    if (id == null) return;
    try {
      await this.#client.cancelTask({ tenant: "", id, metadata: undefined }, this.#unary());
    } catch (error) {
      if (!isSettled(error)) throw error;
    }
  }

  /** Before an answer is sent again: a remote that keeps its messages knows whether it has this one. */
  async #hasArrived(): Promise<boolean> {
    const { remote, outgoing } = this.#handoff;
    if (remote?.task_id == null) return false;
    const task = await this.#client.getTask({ tenant: "", id: remote.task_id, historyLength }, this.#unary());
    const isKnown = (task.history ?? []).some(({ messageId }) => messageId === outgoing?.message_id);
    if (!isKnown && !isOver(stateOf(task.status))) return false;
    await this.#note({ outgoing: null });
    return true;
  }

  async #send(): Promise<void> {
    const { outgoing, remote, delegation, expires_at } = this.#handoff;
    if (outgoing === null) return;
    const message = remoteMessage({
      messageId: outgoing.message_id,
      taskId: remote?.task_id ?? null,
      contextId: remote?.context_id ?? null,
      parts: await unseal(outgoing.parts, this.#kernel.store.of(this.#handoff.tenant_id)),
      delegation,
      extensions: this.#extensions.filter((uri) => uri === delegationUri),
    });
    const configuration = {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: true,
    };
    const request = { tenant: "", message, configuration, metadata: undefined };
    this.#allow(Math.min(sendMsMax, Math.max(0, Date.parse(expires_at) - this.#kernel.clock.now())));
    // Servers differ in how a stream that continues a task begins; its answer is followed like any task.
    if (this.#connection.isStreaming && remote === null) {
      await this.#follow(this.#client.sendMessageStream(request, this.#streaming(null)));
      return;
    }
    const answer = await this.#client.sendMessage(request, this.#streaming(null));
    const isMessage = "messageId" in answer;
    await this.#take({
      payload: isMessage ? { $case: "message", value: answer } : { $case: "task", value: answer },
    });
  }

  /** Streams where the remote has them; asking again and again where it has not, or where they end early. */
  async #watch(): Promise<void> {
    let wait: number = pollMs.least;
    while (!this.#isDone) {
      const id = this.#remoteTaskId();
      const before = this.#handoff.remote?.state;
      const { cursor = null } = this.#handoff.remote ?? {};
      if (cursor === null || !this.#hasCursor) {
        await this.#look(id);
      }
      if (!this.#isDone && this.#connection.isStreaming) await this.#subscribe(id, cursor);
      if (this.#isDone) return;
      wait = this.#handoff.remote?.state === before ? Math.min(wait * 2, pollMs.most) : pollMs.least;
      await pause(wait, this.#signal);
      this.#signal.throwIfAborted();
    }
  }

  async #subscribe(id: string, cursor: string | null): Promise<void> {
    try {
      await this.#follow(this.#client.resubscribeTask({ tenant: "", id }, this.#streaming(cursor)));
    } catch (error) {
      if (!hasNoStream(error)) throw error;
      // It has ended meanwhile, or gives no stream now: its state says which.
      await this.#look(id);
    }
  }

  /** The task as it is now. */
  async #look(id: string): Promise<void> {
    const task = await this.#client.getTask({ tenant: "", id, historyLength: 0 }, this.#unary());
    this.#remember(task.metadata);
    await this.#settle(task);
  }

  async #follow(events: AsyncIterable<StreamResponse>): Promise<void> {
    for await (const event of events) {
      await this.#take(event);
      if (this.#isDone) return;
    }
  }

  async #take({ payload }: StreamResponse): Promise<void> {
    switch (payload?.$case) {
      case "message":
        return await this.#end({ turn: resultOfMessage(payload.value), isOver: true, state: "COMPLETED" });
      case "task": {
        const { id, contextId, metadata } = payload.value;
        await this.#accepted(id, contextId);
        this.#remember(metadata);
        return await this.#settle(payload.value);
      }
      case "statusUpdate": {
        const { taskId, contextId, status, metadata } = payload.value;
        await this.#accepted(taskId, contextId);
        this.#remember(metadata);
        // What is said meanwhile looks like another interruption; the task itself says which it is.
        if (isInterrupted(stateOf(status))) return await this.#look(taskId);
        return await this.#settle({ status });
      }
      case "artifactUpdate": {
        await this.#accepted(payload.value.taskId, payload.value.contextId);
        this.#remember(payload.value.metadata);
        return;
      }
      default:
        return;
    }
  }

  /** The remote has what was sent (F2). */
  async #accepted(taskId: string, contextId: string): Promise<void> {
    const { outgoing, remote } = this.#handoff;
    if (outgoing === null && remote !== null) return;
    if (taskId === "") throw new RemoteProblem("remote_failed", "The remote agent names no task.");
    const isNew = remote === null;
    if (remote?.task_id != null && remote.task_id !== taskId) {
      throw new RemoteProblem(
        "remote_failed",
        "The remote agent goes on with another task than it was asked for.",
      );
    }
    const known: Remote = remote ?? {
      task_id: taskId,
      context_id: contextId || null,
      state: "SUBMITTED",
      mark: null,
      cursor: null,
    };
    await this.#note(
      { outgoing: null, remote: known, attempts: 0, problem: null },
      isNew ? taskId : undefined,
    );
    this.#allow(stretchMs);
  }

  /** Written down with what is recorded next: a stream that is continued from an earlier place only repeats itself. */
  #remember(metadata: Record<string, unknown> | undefined): void {
    const said = metadata?.[durableCursorUri];
    if (typeof said !== "object" || said === null || !("eventId" in said)) return;
    const { remote } = this.#handoff;
    if (remote === null || typeof said.eventId !== "string" || said.eventId.length > 100) return;
    this.#handoff = { ...this.#handoff, remote: { ...remote, cursor: said.eventId } };
  }

  /** What a status means for the step that waits now. */
  async #settle({ status }: { status: TaskStatus | undefined }): Promise<void> {
    const { step, remote } = this.#handoff;
    const state = stateOf(status);
    if (step === null || remote === null) {
      this.#isDone = true;
      return;
    }
    if (isOver(state)) return await this.#endWithResult();
    if (isInterrupted(state)) {
      const mark = markOf(status);
      // The run knows of this one: it asks a person, or its answer has only just been sent.
      if (mark !== null && mark === remote.mark) return;
      const turn: Turn = { status: state, summary: promptOf(status) };
      return await this.#end({ turn, isOver: false, state, mark });
    }
    // Somebody else gave the remote what it waited for.
    if (step.startsWith("ask:"))
      return await this.#end({ turn: { status: "WORKING" }, isOver: false, state });
    if (state !== remote.state) await this.#note({ remote: { ...remote, state } });
  }

  /** Artifacts come in pieces; the whole is asked for when it is complete. */
  async #endWithResult(): Promise<void> {
    const id = this.#remoteTaskId();
    const task: Task = await this.#client.getTask({ tenant: "", id }, this.#unary());
    const state = stateOf(task.status);
    if (!isOver(state))
      throw new RemoteProblem("remote_failed", "The remote task ended, and is said not to have.", {
        isPassing: true,
      });
    await this.#end({ turn: resultOfTask(task), isOver: true, state });
  }

  async #end({
    turn,
    isOver: over,
    state,
    mark = null,
  }: {
    turn: Turn;
    isOver: boolean;
    state: string;
    mark?: string | null;
  }): Promise<void> {
    const { remote, step } = this.#handoff;
    this.#isDone = true;
    if (step === null) return;
    const receipt = "receipt" in turn ? turn.receipt : undefined;
    const known = remote ?? { task_id: null, context_id: null, cursor: null };
    await this.#endTurn(step, {
      result: { output: jsonCopy(turn) },
      isOver: over,
      remote: { ...known, state, mark },
      receipt,
    });
  }

  async #endTurn(
    step: string,
    ending: Pick<EndHandoffTurn, "result" | "isOver" | "remote" | "receipt">,
  ): Promise<void> {
    const { id: handoffId, task_id: taskId, tenant_id } = this.#handoff;
    const request = { ...ending, ...networkUses(), step, handoffId, taskId, redactor: this.#redactor };
    await runCommand(this.#kernel, endHandoffTurn, systemCaller(tenant_id), request);
  }

  async #note(changes: HandoffChanges, acceptedAs?: string): Promise<void> {
    const { id: handoffId, task_id: taskId, tenant_id } = this.#handoff;
    const request = { handoffId, taskId, changes, acceptedAs, redactor: this.#redactor };
    const after = await runCommand(this.#kernel, noteHandoff, systemCaller(tenant_id), request);
    if (after === null) this.#isDone = true;
    else this.#handoff = after;
  }

  #remoteTaskId(): string {
    const id = this.#handoff.remote?.task_id;
    if (id == null)
      throw new RemoteProblem("remote_failed", "The remote agent answered without naming a task.");
    return id;
  }

  get #hasCursor(): boolean {
    return this.#extensions.includes(durableCursorUri);
  }

  get #extensions(): string[] {
    return usedExtensions.filter((uri) => this.#connection.extensions.includes(uri));
  }

  #unary(): RequestOptions {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(requestMsMax)]);
    return { ...this.#streaming(null), signal };
  }

  #streaming(since: string | null): RequestOptions {
    const extensions = this.#extensions;
    if (extensions.length === 0) return { signal: this.#signal };
    const serviceParameters = ServiceParameters.create(withA2AExtensions(...extensions));
    if (since !== null && this.#hasCursor) serviceParameters["A2A-Since"] = since;
    return { signal: this.#signal, serviceParameters };
  }
}

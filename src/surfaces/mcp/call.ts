/** One call of a tool: from its arguments to the result, or to the question that comes before it. */

import type {
  CallToolRequestParams,
  CallToolResult,
  InputRequiredResult,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import { requireScope } from "../../kernel/access/authorize.ts";
import { HarnessError } from "../../kernel/core/errors.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { cancelTask } from "../../kernel/tasks/cancel-task.ts";
import { isFinal } from "../../kernel/tasks/lifecycle.ts";
import { mayReadTask, noteTaskRead, readTask } from "../../kernel/tasks/read-tasks.ts";
import { signalTask } from "../../kernel/tasks/signal-task.ts";
import type { JsonValue, Position } from "../../store/port.ts";
import { checker } from "../validate.ts";
import { follow } from "./follow.ts";
import type { Ending, OpenCall } from "./open-calls.ts";
import {
  answerForm,
  answerTask,
  formFor,
  type QuestionId,
  readElicited,
  readQuestionId,
  writeQuestionId,
} from "./questions.ts";
import type { McpRequest } from "./request.ts";
import { resultOf, toolError } from "./results.ts";
import type { Sdk } from "./sdk.ts";
import { type CallMeta, readMeta, type Submitted, submitCall } from "./submit.ts";
import {
  type AgentTool,
  AnswerTaskArguments,
  CancelTaskArguments,
  type GeneralToolName,
  GetTaskArguments,
  SignalTaskArguments,
  waitSecondsMax,
} from "./tools.ts";

const checkGet = checker(GetTaskArguments);
const checkAnswer = checker(AnswerTaskArguments);
const checkSignal = checker(SignalTaskArguments);
const checkCancel = checker(CancelTaskArguments);

/** The name of the one question that a result asks at a time. */
const questionKey = "question";

type Result = CallToolResult | InputRequiredResult;

export class ToolCall {
  readonly #sdk: Sdk;
  readonly #server: Server;
  readonly #request: McpRequest;
  readonly #context: ServerContext;
  readonly #params: CallToolRequestParams;
  readonly #meta: CallMeta;
  /** Aborted with the reason, when nobody waits any more. */
  readonly #over = new AbortController();
  readonly #asked = new Set<string>();
  /** Why a question that was put to a person is still open, where there is a reason. */
  #note: string | null = null;
  #progress = 0;

  constructor(
    { sdk, server, request }: { sdk: Sdk; server: Server; request: McpRequest },
    context: ServerContext,
    params: CallToolRequestParams,
  ) {
    this.#sdk = sdk;
    this.#server = server;
    this.#request = request;
    this.#context = context;
    this.#params = params;
    this.#meta = readMeta(context.mcpReq._meta ?? {});
  }

  async agent(tool: AgentTool): Promise<Result> {
    return await this.#open(async () => {
      const given = this.#params.arguments ?? {};
      const { task, after } =
        (await this.#goOn(tool)) ?? (await submitCall(this.#request, tool, given, this.#meta));
      return await this.#await(task, after, tool);
    });
  }

  async general(name: GeneralToolName): Promise<Result> {
    return await this.#open(async () => {
      switch (name) {
        case "get_task":
          return await this.#get();
        case "answer_task":
          return await this.#answer();
        case "signal_task":
          return await this.#signal();
        case "cancel_task":
          return await this.#cancel();
      }
    });
  }

  async #open(run: () => Promise<Result>): Promise<Result> {
    const { caller, conversation, openCalls, signal } = this.#request;
    const call: OpenCall = {
      caller,
      conversation,
      requestId: this.#context.mcpReq.id,
      end: (why) => this.#over.abort(why),
      leaveOpen: ({ step }, why) => {
        if (this.#asked.delete(step)) this.#leaveOpen(why);
      },
    };
    const end = () => call.end(signal.reason);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
    using _ = openCalls.add(call);
    try {
      return await run();
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  /** A call that is made again with the answer to the question that it came back with. */
  async #goOn({ info }: AgentTool): Promise<Submitted | null> {
    const { kernel, caller } = this.#request;
    const state = this.#context.mcpReq.requestState();
    if (state === undefined) return null;
    // The state only names a task; anybody can make one up.
    requireScope(caller, "tasks:read");
    const question = readQuestionId(state);
    const task =
      question === null ? undefined : await findVisible(kernel.store, caller, "task", question.taskId);
    if (question === null || task?.agent.name !== info.name) {
      throw new HarnessError("invalid_request", "requestState is not one that this tool returned.");
    }
    await noteTaskRead(kernel, caller, task);
    const after = await kernel.store.head();
    const response = this.#context.mcpReq.inputResponses?.[questionKey];
    if (response === undefined) return { task, after };
    const elicited = readElicited(response);
    if (elicited === null) this.#leaveOpen("The person did not answer.");
    else await this.#take(question, elicited.content);
    return { task, after };
  }

  /** What does not fit is asked for again, with the reason. */
  async #take(question: QuestionId, content: Record<string, unknown>): Promise<void> {
    const { kernel, caller } = this.#request;
    try {
      await answerForm(kernel, caller, question, content);
    } catch (error) {
      if (!(error instanceof HarnessError) || error.code !== "invalid_request") throw error;
      this.#note = error.message;
    }
  }

  #leaveOpen(why: string): void {
    this.#note = why;
    this.#over.abort("unanswered");
  }

  /** Waits for the task, and asks what it asks. `tool` is the one whose task it is to end when the call is cancelled. */
  async #await(task: TaskRecord, after: Position, tool: AgentTool | null, seconds?: number): Promise<Result> {
    const { kernel, caller, facts } = this.#request;
    const waitSeconds = seconds ?? this.#meta["bridle/wait-seconds"] ?? waitSecondsMax;
    const signal = AbortSignal.any([this.#over.signal, AbortSignal.timeout(waitSeconds * 1000)]);
    const { progressToken } = this.#meta;
    const tell = progressToken === undefined ? null : (message: string) => this.#tell(progressToken, message);
    const showing = { kernel, caller, url: facts.url(), tool };
    while (true) {
      const following = { kernel, caller, taskId: task.id, after, asked: this.#asked, signal, tell };
      const now = await follow(following);
      if (this.#over.signal.aborted)
        return await this.#ended(now, tool, () => resultOf(showing, now, this.#note));
      const question = signal.aborted || tool === null ? null : await this.#ask(now);
      if (question === null) return await resultOf(showing, now);
      if (question !== "asked") return question;
      after = await kernel.store.head();
    }
  }

  async #tell(progressToken: string | number, message: string): Promise<void> {
    this.#progress += 1;
    const params = { progressToken, progress: this.#progress, message };
    await this.#context.mcpReq.notify({ method: "notifications/progress", params });
  }

  /** Puts the task's question to the person at the client, in the way of the revision that it speaks. */
  async #ask({ id, pending }: TaskRecord): Promise<InputRequiredResult | "asked" | null> {
    const { era, elicits } = this.#request;
    const form = pending?.kind === "input" && elicits ? formFor(this.#sdk, pending) : null;
    if (pending === null || form === null) return null;
    const question = writeQuestionId({ taskId: id, step: pending.step });
    const message = this.#note === null ? pending.prompt : `${pending.prompt}\n${this.#note}`;
    const params = { message, requestedSchema: form };
    if (era === "modern") {
      const inputRequests = { [questionKey]: this.#sdk.inputRequired.elicit(params) };
      return this.#sdk.inputRequired({ inputRequests, requestState: question });
    }
    this.#asked.add(pending.step);
    const { id: relatedRequestId } = this.#context.mcpReq;
    // Its own id says what is asked, so the answer is understood whoever takes it.
    const request = { jsonrpc: "2.0" as const, id: question, method: "elicitation/create", params };
    await this.#server.transport?.send(request, { relatedRequestId });
    return "asked";
  }

  async #ended(
    task: TaskRecord,
    tool: AgentTool | null,
    result: () => Promise<CallToolResult>,
  ): Promise<Result> {
    const why: Ending | "unanswered" = this.#over.signal.reason;
    if (why === "unanswered") return await result();
    if (why === "stopped") {
      return toolError(
        `The server is stopping. Task ${task.id} goes on when it is back; get_task has its result.`,
        task,
      );
    }
    if (tool !== null && !isFinal(task.status) && this.#cancels(why)) await this.#cancelTask(task.id);
    return await result();
  }

  /**
   * Since 2026-07-28 closing the stream is how a client cancels; before, it is nothing, and a notification is. But who gave
   * the call a key can come back for its result, and for them a lost connection is only a lost connection.
   */
  #cancels(why: Ending): boolean {
    if (why === "cancelled") return true;
    return (
      why === "gone" && this.#request.era === "modern" && this.#meta["bridle/idempotency-key"] === undefined
    );
  }

  async #cancelTask(taskId: string): Promise<TaskRecord> {
    const { kernel, caller } = this.#request;
    const { result } = await kernel.dispatch(cancelTask, caller, {
      taskId,
      reason: "The MCP client canceled the call.",
    });
    return result;
  }

  async #get(): Promise<Result> {
    const { kernel, caller } = this.#request;
    const { task_id, wait_seconds = 0 } = checkGet(this.#params.arguments ?? {});
    const after = await kernel.store.head();
    return await this.#await(await readTask(kernel, caller, task_id), after, null, wait_seconds);
  }

  async #answer(): Promise<Result> {
    const { kernel, caller } = this.#request;
    const { task_id, answer } = checkAnswer(this.#params.arguments ?? {});
    requireScope(caller, "messages:write");
    // The answer is the task as it is then.
    const task = await readTask(kernel, caller, task_id);
    if (task.pending?.kind === "approval") return await this.#await(task, 0, null, 0);
    const after = await kernel.store.head();
    await answerTask(kernel, caller, task, answer);
    return await this.#await(task, after, null);
  }

  async #signal(): Promise<Result> {
    const { kernel, caller, facts } = this.#request;
    const { task_id, name, payload = null } = checkSignal(this.#params.arguments ?? {});
    const key = this.#meta["bridle/idempotency-key"];
    // Arguments of a call came as JSON.
    const signal = { taskId: task_id, name, payload: payload as JsonValue };
    const once = key === undefined ? undefined : { key, target: "mcp signal_task", body: signal };
    const { result } = await kernel.dispatch(signalTask, caller, signal, once);
    const { isError: _, ...rest } = await resultOf({ kernel, caller, url: facts.url(), tool: null }, result);
    return {
      ...(mayReadTask(caller, result) ? rest : {}),
      content: [{ type: "text", text: `Task ${result.id} was sent the signal ${name}.` }],
    };
  }

  async #cancel(): Promise<Result> {
    const { kernel, caller, facts } = this.#request;
    const { task_id } = checkCancel(this.#params.arguments ?? {});
    const task = await this.#cancelTask(task_id);
    const {
      content: _,
      isError: __,
      ...rest
    } = await resultOf({ kernel, caller, url: facts.url(), tool: null }, task);
    return { ...rest, content: [{ type: "text", text: `Task ${task.id} is canceled.` }] };
  }
}

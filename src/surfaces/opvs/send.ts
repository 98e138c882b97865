/** Sending a message: waiting for what comes of it, or following it as it comes. */

import { toJson } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  type SendMessageRequest,
  type SendMessageResponseJson,
  type StreamResponseJson,
  type TaskPushNotificationConfig,
} from "../../../proto/generated/lf/a2a/v1/a2a_pb.js";
import { requireScope } from "../../kernel/access/authorize.ts";
import { HarnessError, notFound } from "../../kernel/core/errors.ts";
import { secretId } from "../../kernel/core/ids.ts";
import { findVisible } from "../../kernel/core/read.ts";
import { hashWellFormed } from "../../kernel/core/well-formed.ts";
import { saidKey } from "../../kernel/kinds/client-message.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { isOurs, sendMessage as sendMessageCommand } from "../../kernel/sessions/send-message.ts";
import { awaitTask } from "../../kernel/tasks/await-task.ts";
import { isFinal } from "../../kernel/tasks/lifecycle.ts";
import { hashOf } from "../../receipts/canonical.ts";
import type { Position } from "../../store/port.ts";
import { addressed } from "./agent.ts";
import type { Call } from "./call.ts";
import { InvalidParams, OpvsError, type Violation } from "./errors.ts";
import { followTask } from "./follow.ts";
import { requireAccepted, requireAnswerable } from "./media-types.ts";
import { detailOf, present, presentationFor } from "./present-task.ts";
import { readPushConfig, requirePush } from "./push-configs.ts";
import { TaskFeed } from "./task-feed.ts";
import { messageInput } from "./view/parts.ts";
import { TaskView } from "./view/task-view.ts";

/** Who waits for an answer waits until there is one, or gives up; this only keeps a timer from overflowing. */
const waitMsMax = 2 ** 31 - 1;
const idCharsMax = 200;

export async function sendMessage(call: Call, request: SendMessageRequest): Promise<SendMessageResponseJson> {
  const { kernel } = call;
  const newTaskId = newIdFor(call, "task");
  using feed = new TaskFeed(kernel.tail, newTaskId);
  const { task } = await send(call, request, newTaskId);
  const { card } = addressed(call);
  const isAwaited = request.configuration?.returnImmediately !== true || card.answersWithMessage;
  const isNew = task.id === newTaskId;
  if (isNew && isAwaited) await feed.settled(call.signal);
  const view =
    (isNew ? viewFromFeed(call, task, feed, isAwaited) : null) ?? (await viewOf(call, task, isAwaited));
  const answer = card.answersWithMessage && view.task.status === "COMPLETED" ? await view.answer() : null;
  if (answer !== null) {
    const { taskId: _, ...message } = answer;
    return { message };
  }
  return { task: await present(call, view, detailOf(request.configuration?.historyLength)) };
}

/** Null if the events at hand are not enough. */
function viewFromFeed(
  call: Call,
  task: TaskRecord,
  { events }: TaskFeed,
  isAwaited: boolean,
): TaskView | null {
  const view = events === null ? null : TaskView.of(task, events, presentationFor(call));
  return view === null || (isAwaited && !isAtRest(view.task)) ? null : view;
}

/** Of a task that was there before, or that has come far. */
async function viewOf(call: Call, task: TaskRecord, isAwaited: boolean): Promise<TaskView> {
  const { kernel, caller, signal } = call;
  while (true) {
    const now = isAwaited ? await awaitTask(kernel, caller, task.id, waitMsMax, signal) : task;
    const view = await TaskView.read(now, Number.POSITIVE_INFINITY, presentationFor(call));
    if (!isAwaited || isAtRest(view.task)) return view;
    if (signal.aborted) throw unanswered(call, task);
    // Somebody else has answered the question meanwhile, so there is more to wait for.
  }
}

/** Who waits is answered when the task has ended or needs somebody, and not before. */
function isAtRest({ status, pending }: TaskRecord): boolean {
  return isFinal(status) || pending !== null;
}

function unanswered({ stopped, isAnonymous }: Call, { id }: TaskRecord): HarnessError {
  if (stopped.aborted) {
    return new HarnessError(
      "service_unavailable",
      `The server is stopping. Task ${id} goes on when it is back; the same message asks for it again.`,
    );
  }
  if (!isAnonymous) return new HarnessError("client_closed_request", "The client has gone away.");
  return new HarnessError(
    "deadline_exceeded",
    `Task ${id} goes on, but nobody is kept waiting this long without credentials. Ask for it again.`,
  );
}

/** Refused before anything is streamed; then the task as it is, and everything that becomes of it. */
export async function sendStreamingMessage(
  call: Call,
  request: SendMessageRequest,
): Promise<AsyncIterable<StreamResponseJson>> {
  const { card } = addressed(call);
  if (!card.streaming) throw new OpvsError("UNSUPPORTED_OPERATION", "This agent does not stream.");
  if (card.answersWithMessage) return answerAsStream(call, request);
  const { task, position } = await send(call, request, newIdFor(call, "task"));
  const detail = detailOf(request.configuration?.historyLength);
  return followTask(call, task, { from: position, detail, endsWithQuestion: true });
}

async function* answerAsStream(call: Call, request: SendMessageRequest): AsyncGenerator<StreamResponseJson> {
  yield await sendMessage(call, request);
}

async function send(
  call: Call,
  request: SendMessageRequest,
  newTaskId: string,
): Promise<{ task: TaskRecord; position: Position }> {
  const { message } = request;
  if (message === undefined) throw new InvalidParams([{ field: "message", description: "is required" }]);
  requireSendable(call, request, message);
  const { kernel, caller, agent, trace, version, isAnonymous } = call;
  const config = request.configuration?.taskPushNotificationConfig;
  const { contextId, taskId } = message;
  // The answer shows the task, which is only the caller's own when this message begins it.
  if (taskId !== "") requireScope(caller, "tasks:read");
  const submitted = {
    agent,
    contextId: contextId === "" ? null : contextId,
    taskId: taskId === "" ? null : taskId,
    newTaskId,
    newSessionId: newIdFor(call, "session"),
    message: messageInput(message, request.configuration?.acceptedOutputModes ?? []),
    metadata: request.metadata,
    trace,
    pushConfig: config && readPushConfig(config, version, "configuration.taskPushNotificationConfig"),
  };
  // Who did not get our answer sends the same message again and must not have the work done twice. Those who
  // have no name may well send the same without being the same.
  const once = isAnonymous
    ? undefined
    : { key: fingerprintOf(message), target: `opvs SendMessage ${agent ?? ""}`, body: webhookIn(config) };
  try {
    const { result, position } = await kernel.dispatch(sendMessageCommand, caller, submitted, once);
    const task = result.task ?? (await findVisible(kernel.store, caller, "task", result.id));
    if (task === undefined) throw notFound("task", result.id);
    return { task, position: position ?? (await kernel.store.head()) };
  } catch (error) {
    throw asReused(error);
  }
}

function asReused(error: unknown): unknown {
  if (!(error instanceof HarnessError) || error.code !== "idempotency_key_reused") return error;
  const description = "was used before for the same message with another webhook";
  return new InvalidParams([{ field: "message.messageId", description }]);
}

/** All that a caller without a name has to show for its task is that it knows the id, so nobody may guess it. */
function newIdFor({ kernel, isAnonymous }: Call, prefix: "task" | "session"): string {
  return isAnonymous ? secretId(prefix, kernel.clock.now()) : kernel.newId(prefix);
}

/**
 * A client's id alone does not do: there are clients that call every message the same. The members of free JSON come in
 * any order: some libraries write them in another one with every try.
 */
function fingerprintOf(message: Message): string {
  return hashWellFormed(toJson(MessageSchema, message), hashOf);
}

/**
 * What of a repeated message must be as it was: a webhook that comes with it only now would never be told. Without its secrets,
 * whose hashes do not touch the disk.
 */
function webhookIn(config: TaskPushNotificationConfig | undefined): object | null {
  if (config === undefined) return null;
  const { id, url, authentication } = config;
  return { id, url, scheme: authentication?.scheme ?? "" };
}

function requireSendable(call: Call, request: SendMessageRequest, message: Message): void {
  const violations: Violation[] = [];
  const refuse = (field: string, description: string) => violations.push({ field, description });
  if (message.role !== Role.USER) refuse("message.role", "is ROLE_USER for what a client sends");
  for (const name of ["messageId", "contextId", "taskId"] as const) {
    if (message[name].length > idCharsMax) refuse(`message.${name}`, `has at most ${idCharsMax} characters`);
  }
  for (const [field, metadata] of [
    ["metadata", request.metadata],
    ["message.metadata", message.metadata],
  ] as const) {
    if (metadata !== undefined && saidKey in metadata) refuse(field, `uses the reserved key ${saidKey}`);
  }
  // A name that anybody can make up is one that others may have made up as well.
  if (call.isAnonymous && message.contextId !== "" && !isOurs(message.contextId)) {
    refuse("message.contextId", "is one that was given out here, without credentials");
  }
  if ((request.configuration?.historyLength ?? 0) < 0) {
    refuse("configuration.historyLength", "is not negative");
  }
  if (violations.length > 0) throw new InvalidParams(violations);
  const { card } = addressed(call);
  requireAccepted(message.parts, card.inputModes);
  requireAnswerable(request.configuration?.acceptedOutputModes ?? [], card.outputModes);
  if (request.configuration?.taskPushNotificationConfig !== undefined) requirePush(call);
}

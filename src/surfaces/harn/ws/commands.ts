/** The command frames: each is a command of the kernel, as it is over REST, inside the session of the connection. */

import { requireScope } from "../../../kernel/access/authorize.ts";
import { respondPermissionRequest } from "../../../kernel/approvals/respond-permission-request.ts";
import type { Command } from "../../../kernel/core/dispatch.ts";
import { HarnessError, notFound } from "../../../kernel/core/errors.ts";
import { findVisible } from "../../../kernel/core/read.ts";
import { readTrace } from "../../../kernel/core/trace.ts";
import type { Kernel } from "../../../kernel/kernel.ts";
import { appendMessage } from "../../../kernel/sessions/append-message.ts";
import { truncateSession } from "../../../kernel/sessions/truncate-session.ts";
import { appendTaskMessage } from "../../../kernel/tasks/append-task-message.ts";
import { cancelTask } from "../../../kernel/tasks/cancel-task.ts";
import { type HostResult, submitHostResult } from "../../../kernel/tasks/submit-host-result.ts";
import { submitTask } from "../../../kernel/tasks/submit-task.ts";
import { type Caller, mayUse, type Scope } from "../../../policy/caller.ts";
import type { Position } from "../../../store/port.ts";
import { smallBytesMax } from "../../small-body.ts";
import { type Check, checker } from "../../validate.ts";
import { presentMessage, presentPermissionRequest, presentTruncation, type Viewer } from "../present.ts";
import { presentTask } from "../present-task.ts";
import { jsonObject, jsonValue, messageInput, taskInput } from "../read-input.ts";
import { type CommandFrame, type CommandType, commandFrames, type Frame } from "./frames.ts";

/** What a command frame is carried out with. */
export interface FrameCall extends Viewer {
  sessionId: string;
  dispatch<Request, Result>(command: Command<Request, Result>, request: Request): Promise<Result>;
  /** The event with which the last command was recorded. */
  writtenAt: Position | null;
}

type Carry<T extends CommandType> = (call: FrameCall, frame: CommandFrame<T>) => Promise<unknown>;

const commands: { [T in CommandType]: Carry<T> } = {
  async "message.append"(call, { message }) {
    const request = { sessionId: call.sessionId, message: messageInput(message) };
    return await presentMessage(await call.dispatch(appendMessage, request), call);
  },
  async "task.submit"(call, frame) {
    const { input, persona_id, branch_id, parent_task_id, metadata, traceparent, tracestate } = frame;
    const task = await call.dispatch(submitTask, {
      sessionId: call.sessionId,
      personaId: persona_id,
      branchId: branch_id,
      parentTaskId: parent_task_id,
      input: taskInput(input),
      metadata: jsonObject(metadata),
      trace: readTrace(traceparent, tracestate),
    });
    return await presentTask(task, call);
  },
  async "task.cancel"(call, { task_id, reason }) {
    await assertInSession(call, "task", task_id);
    return await presentTask(await call.dispatch(cancelTask, { taskId: task_id, reason }), call);
  },
  async "session.truncate"(call, { keep_first, reason }) {
    const request = { sessionId: call.sessionId, keepFirst: keep_first, reason };
    return await presentTruncation(await call.dispatch(truncateSession, request), call, call.writtenAt);
  },
  async "input.submit"(call, { task_id, message }) {
    await assertInSession(call, "task", task_id);
    const request = { taskId: task_id, kind: "input", message: messageInput(message) } as const;
    return await presentMessage(await call.dispatch(appendTaskMessage, request), call);
  },
  async "approval.respond"(call, { request_id, decision, note }) {
    await assertInSession(call, "permission_request", request_id);
    const request = { requestId: request_id, approved: decision === "approved", reason: note ?? null };
    return presentPermissionRequest(await call.dispatch(respondPermissionRequest, request));
  },
  async "host.result"(call, frame) {
    const request = { sessionId: call.sessionId, callId: frame.call_id, result: hostResult(frame) };
    return await call.dispatch(submitHostResult, request);
  },
};

/** Checked before what is in a frame. */
const scopes: Record<CommandType, Scope> = {
  "message.append": appendMessage.scope,
  "task.submit": submitTask.scope,
  "task.cancel": cancelTask.scope,
  "session.truncate": truncateSession.scope,
  "input.submit": appendTaskMessage.scope,
  "approval.respond": respondPermissionRequest.scope,
  "host.result": submitHostResult.scope,
};

/** Only frames of these scopes carry content; others are refused by their length, before they are parsed. */
export function requireSmallFrame(caller: Caller, text: string): void {
  const isSmall = text.length <= smallBytesMax;
  if (isSmall || mayUse(caller, "messages:write") || mayUse(caller, "tasks:write")) return;
  throw new HarnessError(
    "payload_too_large",
    `Without the scope messages:write or tasks:write a frame has at most ${smallBytesMax} characters.`,
  );
}

/** What a host does not name stays nameless; that it failed is what counts. */
const hostErrorCode = "host_error";

function hostResult({ output, error }: CommandFrame<"host.result">): HostResult["result"] {
  if ((output === undefined) === (error === undefined)) {
    throw new HarnessError("invalid_request", "A host.result has either an output or an error.", {
      param: "output",
    });
  }
  if (error === undefined) return { output: jsonValue(output) ?? null };
  return { error: { code: error.code ?? hostErrorCode, message: error.message } };
}

/** A connection speaks for its session; what belongs to another is not there, as what the caller may not see. */
async function assertInSession(
  { store, caller, sessionId }: FrameCall,
  kind: "task" | "permission_request",
  id: string,
): Promise<void> {
  const record = await findVisible(store, caller, kind, id);
  if (record?.session_id !== sessionId) throw notFound(kind, id);
}

/** A frame is checked and carried out by the two entries of its type, which the table keeps together. */
function carrier<T extends CommandType>(type: T): (call: FrameCall, body: unknown) => Promise<unknown> {
  const check: Check<(typeof commandFrames)[T]> = checker(commandFrames[type]);
  const carry: Carry<T> = commands[type];
  return (call, body) => carry(call, check(body));
}

const carriers: Record<CommandType, ReturnType<typeof carrier>> = {
  "message.append": carrier("message.append"),
  "task.submit": carrier("task.submit"),
  "task.cancel": carrier("task.cancel"),
  "session.truncate": carrier("session.truncate"),
  "input.submit": carrier("input.submit"),
  "approval.respond": carrier("approval.respond"),
  "host.result": carrier("host.result"),
};

export interface Carried {
  result: unknown;
  /** The answer to an earlier, equal frame under the same idempotency key. */
  isRepeated: boolean;
}

export async function carryOutFrame(
  kernel: Kernel,
  caller: Caller,
  sessionId: string,
  type: CommandType,
  { idempotencyKey, body }: Frame,
): Promise<Carried> {
  requireScope(caller, scopes[type]);
  const idempotency =
    idempotencyKey === undefined
      ? undefined
      : { key: idempotencyKey, target: JSON.stringify(["frame", type, sessionId]), body };
  let isRepeated = false;
  const call: FrameCall = {
    store: kernel.store,
    approvals: kernel.approvals,
    caller,
    sessionId,
    writtenAt: null,
    async dispatch(command, request) {
      const answer = await kernel.dispatch(command, caller, request, idempotency);
      isRepeated = answer.replayed;
      call.writtenAt = answer.position;
      return answer.result;
    },
  };
  const result = await carriers[type](call, body);
  return { result, isRepeated };
}

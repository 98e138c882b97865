/** What a host did, or why it could not: recorded once, and the run goes on with it. */

import type { JsonValue } from "../../store/port.ts";
import { assertMayHost } from "../access/host-access.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { StepSpan } from "../core/events.ts";
import { settle } from "../quotas/ledger.ts";
import { taskOfCall } from "./host-calls.ts";

export interface HostResult {
  /** The session that the host is connected to; it answers for no other. */
  sessionId: string;
  callId: string;
  /** Of the shell that began the run, which answers for that run. */
  isShell?: boolean;
  result: { output: JsonValue } | { error: { code: string; message: string } };
}

export interface AcceptedHostResult {
  call_id: string;
  task_id: string;
  status: "completed" | "failed";
}

export const submitHostResult: Command<HostResult, AcceptedHostResult> = {
  name: "submit_host_result",
  scope: "tasks:write",
  isAllowedWithoutRoom: true,
  decide(unit, { sessionId, callId, isShell, result }) {
    const task = unit.find("task", taskOfCall(callId));
    if (task === undefined || task.session_id !== sessionId) throw notFound("host_call", callId);
    const call = task.host_calls?.find((open) => open.call_id === callId);
    if (call === undefined) {
      throw new HarnessError(
        "conflict",
        `Task ${task.id} does not wait for ${callId}: it was answered before, has expired, or is no longer wanted.`,
        { param: "call_id", details: { task_id: task.id, status: task.status } },
      );
    }
    const session = unit.require("session", sessionId);
    const madeBy = isShell === true ? task.created_by : session.created_by;
    assertMayHost(unit.caller, { madeBy, capability: call.capability });
    const span: StepSpan & { call_id: string } = {
      step: call.step,
      kind: "host",
      name: call.capability,
      call_id: callId,
    };
    settle(unit, task, call.step, { tool_calls: 1 });
    if ("error" in result) unit.emit(task, "span.failed", { ...span, result });
    else unit.emit(task, "span.completed", { ...span, result: { output: unit.seal(result.output) } });
    return { call_id: callId, task_id: task.id, status: "error" in result ? "failed" : "completed" };
  },
};

/** Answer a request for permission: approve or deny, once. The task goes on either way and is told which. */

import type { JsonValue } from "../../store/port.ts";
import type { Command } from "../dispatch.ts";
import { HarnessError } from "../errors.ts";
import { issueApprovalReceipt } from "../receipts/issue.ts";
import type { PermissionRequestRecord, PermissionResponse } from "../resources/permission-request.ts";
import { moveTask } from "../tasks.ts";
import type { Unit } from "../unit.ts";

export interface PermissionAnswer {
  requestId: string;
  approved: boolean;
  reason: string | null;
  answer?: JsonValue | undefined;
  reviewer?: string | null | undefined;
}

export const respondPermissionRequest: Command<PermissionAnswer, PermissionRequestRecord> = {
  name: "respond_permission_request",
  scope: "approvals:write",
  decide: (unit, request) => decidePermission(unit, request),
};

export async function decidePermission(
  unit: Unit,
  answer: PermissionAnswer,
): Promise<PermissionRequestRecord> {
  const { requestId, approved, reason } = answer;
  const request = await unit.require("permission_request", requestId);
  const status = approved ? "approved" : "denied";
  if (request.status === status) return request;
  if (request.status !== "pending") {
    throw new HarnessError("conflict", `Permission request ${requestId} was ${request.status} before.`, {
      details: { request_id: requestId, status: request.status },
    });
  }
  const task = await unit.require("task", request.task_id);
  if (task.pending?.permission_request_id !== requestId) {
    throw new HarnessError(
      "conflict",
      `Task ${task.id} no longer waits for this permission; it is ${task.status}.`,
      {
        details: { task_id: task.id, status: task.status },
      },
    );
  }
  const response = unit.redactor.value<PermissionResponse>({
    approved,
    decision: status,
    reason,
    reviewer: answer.reviewer ?? unit.caller.actor,
    decided_by: unit.caller.actor,
    decided_at: unit.at,
    ...(answer.answer === undefined ? {} : { answer: answer.answer }),
  });
  const receipt_id = issueApprovalReceipt(unit, task, request, response);
  const decided = unit.emit(request, approved ? "tool.approved" : "tool.denied", { response, receipt_id });
  const confirmed = unit.emit(task, "user.tool_confirmation", {
    step: request.step,
    request_id: requestId,
    approved,
    reason,
  });
  moveTask(unit, confirmed, "WORKING", `permission ${status}`);
  return decided;
}

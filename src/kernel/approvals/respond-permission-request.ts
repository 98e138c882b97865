/**
 * Answer a request for permission: approve or deny, once. The task goes on either way and is told which. Where the persona
 * wants signatures, nothing else is an answer.
 */

import { isDeepStrictEqual } from "node:util";
import type { ApprovalProof } from "../../harp/core/proof.ts";
import type { Caller } from "../../policy/caller.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import { exchangesOf } from "../kinds/exchange.ts";
import type { PermissionRequestRecord, PermissionResponse } from "../kinds/permission-request.ts";
import { demandsHarp } from "../kinds/persona.ts";
import { isSubmitter } from "../kinds/submitter.ts";
import { submitterOf, type TaskRecord } from "../kinds/task.ts";
import { newReceiptId } from "../receipts/ids.ts";
import { moveTask } from "../tasks/tasks.ts";
import { close } from "./exchanges.ts";
import { settleChange } from "./policy-changes.ts";
import { findSubject } from "./subjects.ts";

export interface PermissionAnswer {
  requestId: string;
  approved: boolean;
  reason: string | null;
  answer?: JsonValue | undefined;
  metadata?: JsonObject | undefined;
  /** Approves a tool call with another input. */
  modifiedInput?: JsonValue | undefined;
  reviewer?: string | null | undefined;
  /** What the one who answers was shown, when they say so: the answer is to that and to nothing else. */
  artifactHash?: string | undefined;
}

export const respondPermissionRequest: Command<PermissionAnswer, PermissionRequestRecord> = {
  name: "respond_permission_request",
  scope: "approvals:write",
  isAllowedWithoutRoom: true,
  decide: (unit, request) => decidePermission(unit, request),
};

/** Nobody can be asked: what was to be shown cannot be put to anybody. Where only signatures count, that is a no. */
export const denyUndeliverable: Command<{ requestId: string; problem: string }, null> = {
  name: "deny_undeliverable",
  scope: "admin",
  decide(unit, { requestId, problem }) {
    const request = findSubject(unit, requestId);
    const reason = `It could not be put to the approvers (${problem}).`;
    if (request?.object === "policy_change") {
      const outcome = { decision: "denied", reason, decided_by: "system" } as const;
      if (request.status === "pending") settleChange(unit, request, outcome);
      return null;
    }
    const task = request && unit.find("task", request.task_id);
    if (request?.status !== "pending" || task === undefined) return null;
    for (const { request_id } of exchangesOf(request).filter(({ state }) => state === "CREATED")) {
      close(unit, unit.require("permission_request", requestId), request_id, problem);
    }
    if (!demandsHarp(task.policy.approval_policy)) return null;
    decidePermission(unit, { requestId, approved: false, reason, isUndeliverable: true });
    return null;
  },
};

export function decidePermission(
  unit: Unit,
  answer: PermissionAnswer & { proof?: ApprovalProof; isUndeliverable?: boolean },
): PermissionRequestRecord {
  const { requestId, approved, reason, proof, modifiedInput } = answer;
  const request = unit.require("permission_request", requestId);
  const task = unit.find("task", request.task_id);
  // A key that is bound to other agents does not hear that it is there.
  if (task === undefined) throw notFound("permission_request", requestId);
  assertSameArtifact(request, answer);
  if (modifiedInput !== undefined) assertModifiable(request, modifiedInput);
  const status = approved ? "approved" : "denied";
  if (request.status === status && isSameInput(unit, request, modifiedInput)) return request;
  if (request.status !== "pending") {
    throw new HarnessError("conflict", `Permission request ${requestId} was ${request.status} before.`, {
      details: { request_id: requestId, status: request.status },
    });
  }
  if (task.pending?.permission_request_id !== requestId) {
    throw new HarnessError(
      "conflict",
      `Task ${task.id} no longer waits for this permission; it is ${task.status}.`,
      {
        details: { task_id: task.id, status: task.status },
      },
    );
  }
  const needsProof = answer.isUndeliverable !== true && demandsHarp(task.policy.approval_policy);
  if (proof === undefined && needsProof) throw needsSignature(task, requestId);
  if (proof === undefined && approved) assertAnother(unit.caller, task, requestId);
  const response = unit.redactor.value<PermissionResponse>({
    approved,
    decision: status,
    reason,
    reviewer: answer.reviewer ?? unit.caller.actor,
    decided_by: unit.caller.actor,
    decided_at: unit.at,
    ...(answer.answer === undefined ? {} : { answer: answer.answer }),
    ...(modifiedInput === undefined ? {} : { modified_input: modifiedInput }),
    ...(answer.metadata === undefined ? {} : { metadata: answer.metadata }),
    ...(proof === undefined ? {} : { proof }),
  });
  const receipt_id = newReceiptId(unit, task);
  const decided = unit.emit(request, approved ? "tool.approved" : "tool.denied", { response, receipt_id });
  const confirmed = unit.emit(task, "user.tool_confirmation", {
    step: request.step,
    request_id: requestId,
    approved,
    reason,
    ...(response.modified_input === undefined ? {} : { modified_input: response.modified_input }),
  });
  moveTask(unit, confirmed, "WORKING", `permission ${status}`);
  return decided;
}

/** It is part of two events and of the request's document. */
const modifiedCharsMax = 64 * 1024;

/** Only a tool is called with what the server itself hands over; other code has its values already. */
function assertModifiable({ id, request }: PermissionRequestRecord, input: JsonValue): void {
  if (request.kind !== "tool" && request.kind !== "mcp") {
    throw new HarnessError(
      "policy_violation",
      `Permission request ${id} is no call of a tool, so what it asks for cannot be modified: approve or deny it.`,
      { param: "input", details: { request_id: id, kind: request.kind ?? null } },
    );
  }
  if (JSON.stringify(input).length > modifiedCharsMax) {
    throw new HarnessError("invalid_request", `input has at most ${modifiedCharsMax} characters.`, {
      param: "input",
    });
  }
}

function isSameInput(
  unit: Unit,
  { response }: PermissionRequestRecord,
  input: JsonValue | undefined,
): boolean {
  return isDeepStrictEqual(response?.modified_input, unit.redactor.value(input));
}

function assertSameArtifact(
  { id, request }: PermissionRequestRecord,
  { artifactHash }: PermissionAnswer,
): void {
  if (artifactHash === undefined || artifactHash === request.artifact_hash) return;
  throw new HarnessError("conflict", `The answer is to something else than what ${id} asks for.`, {
    param: "artifact_hash",
    details: { request_id: id, artifact_hash: request.artifact_hash },
  });
}

/** With `four_eyes`, whoever asked for the work is not the one who lets it go on. */
function assertAnother(caller: Caller, task: TaskRecord, requestId: string): void {
  if (task.policy.approval_policy?.four_eyes !== true) return;
  if (!isSubmitter(caller, submitterOf(task))) return;
  throw new HarnessError(
    "policy_violation",
    `Persona ${task.persona_id} wants four eyes: whoever submitted the task cannot approve it. Have somebody else answer.`,
    { details: { request_id: requestId, rule: "approval_policy.four_eyes" } },
  );
}

function needsSignature({ persona_id }: TaskRecord, requestId: string): HarnessError {
  return new HarnessError(
    "policy_violation",
    `Persona ${persona_id} wants approvals signed: answer as a paired approver, with \`bridle approver\`.`,
    { details: { request_id: requestId, rule: "approval_policy" } },
  );
}

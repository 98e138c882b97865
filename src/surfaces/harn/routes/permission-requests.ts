/** Permission requests: list them, answer them, and read what an approval rests on. */

import type { Static } from "typebox";
import { listPermissionRequests } from "../../../kernel/approvals/permission-requests.ts";
import { readProof } from "../../../kernel/approvals/read-proof.ts";
import { respondPermissionRequest } from "../../../kernel/approvals/respond-permission-request.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { listRecords } from "../../../kernel/core/read.ts";
import { readTask } from "../../../kernel/tasks/read-tasks.ts";
import { presentPage } from "../lists.ts";
import { presentPermissionRequest, presentProof } from "../present.ts";
import { jsonObject, jsonValue } from "../read-input.ts";
import { type Route, route } from "../route.ts";
import { ListOf, PageQuery, pageQuery } from "../schemas.ts";
import { PermissionProof, PermissionRequest, PermissionResponseRequest } from "../schemas-approvals.ts";

const tag = "Permissions";

export const permissionRequestRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/permission-requests",
    operationId: "listPermissionRequests",
    scope: "tasks:read",
    summary: "List permission requests, pending and answered.",
    tag,
    query: pageQuery("session_id", "task_id"),
    response: ListOf(PermissionRequest),
    async handle(call) {
      const { session_id, task_id, cursor, limit } = call.query;
      const request = { sessionId: session_id, taskId: task_id, cursor, limit };
      return presentPage(
        await listPermissionRequests(call.kernel, call.caller, request),
        presentPermissionRequest,
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/tasks/{task_id}/permission-requests",
    operationId: "listTaskPermissionRequests",
    scope: "tasks:read",
    summary: "List the permission requests of a task.",
    tag,
    query: PageQuery,
    response: ListOf(PermissionRequest),
    async handle(call) {
      const { id: taskId } = await readTask(call.kernel, call.caller, call.param("task_id"));
      const page = await listRecords(call, call.caller, "permission_request", { taskId, ...call.query });
      return presentPage(page, presentPermissionRequest);
    },
  }),
  route({
    method: "GET",
    path: "/v1/permission-requests/{request_id}/proof",
    operationId: "readPermissionProof",
    scope: "tasks:read",
    summary: "What an approval rests on: the artifacts exactly as they were signed, and the signatures.",
    tag,
    response: PermissionProof,
    async handle(call) {
      return presentProof(await readProof(call.kernel, call.caller, call.param("request_id")));
    },
  }),
  route({
    method: "POST",
    path: "/v1/permission-requests/{request_id}/respond",
    operationId: "respondPermissionRequest",
    scope: "approvals:write",
    summary: "Approve or deny a permission request.",
    tag,
    body: PermissionResponseRequest,
    response: PermissionRequest,
    async handle(call) {
      const { answer, reviewer, reason, note, artifact_hash, metadata } = call.body;
      assertInputFits(call.body);
      const request = await call.dispatch(respondPermissionRequest, {
        requestId: call.param("request_id"),
        approved: approvedOf(call.body),
        reason: reason ?? note ?? null,
        answer: jsonValue(answer),
        reviewer,
        artifactHash: artifact_hash,
        modifiedInput: jsonValue(call.body.input),
        metadata: metadata === undefined ? undefined : jsonObject(metadata),
      });
      return presentPermissionRequest(request);
    },
  }),
];

/** What is sent along and not said to be meant would be done by nobody. */
function assertInputFits({ decision, input }: Static<typeof PermissionResponseRequest>): void {
  if ((decision === "modified") === (input !== undefined)) return;
  const problem =
    input === undefined
      ? 'decision "modified" needs the input that is approved.'
      : 'input is for the decision "modified".';
  throw new HarnessError("invalid_request", problem, { param: "input" });
}

/** The decision, in whichever of the accepted spellings; several must agree. */
function approvedOf({ approved, decision, outcome }: Static<typeof PermissionResponseRequest>): boolean {
  const said = new Set<boolean>();
  if (approved !== undefined) said.add(approved);
  if (decision !== undefined) said.add(decision !== "denied");
  if (outcome !== undefined) said.add(["approved", "approve", "selected"].includes(outcome));
  const [only] = said;
  if (only !== undefined && said.size === 1) return only;
  const problem = said.size === 0 ? "Say" : "The fields contradict each other: say";
  throw new HarnessError("invalid_request", `${problem} "approved": true or "approved": false.`, {
    param: "approved",
  });
}

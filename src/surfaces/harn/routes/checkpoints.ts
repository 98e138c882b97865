/** The heads of chains of receipts, for witnesses. */

import { proveConsistency, readCheckpoint } from "../../../kernel/receipts/checkpoint.ts";
import { type Route, route } from "../route.ts";
import { CheckpointQuery, ConsistencyProof, ConsistencyQuery } from "../schemas-receipt.ts";

const tag = "Receipts";

export const checkpointRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/workspaces/{workspace_id}/checkpoint",
    operationId: "getCheckpoint",
    scope: "receipts:read",
    summary: "The signed head of a workspace's chain of receipts, as a checkpoint of C2SP tlog-checkpoint.",
    tag,
    query: CheckpointQuery,
    produces: "text/plain",
    async handle(call) {
      const note = await readCheckpoint(
        call.kernel,
        call.caller,
        call.param("workspace_id"),
        call.query.size,
      );
      call.reply.header("Content-Type", "text/plain; charset=utf-8");
      return note;
    },
  }),
  route({
    method: "GET",
    path: "/v1/workspaces/{workspace_id}/checkpoint/consistency",
    operationId: "proveConsistency",
    scope: "receipts:read",
    summary: "Prove that a chain of so many receipts is the beginning of a longer one (RFC 6962).",
    tag,
    query: ConsistencyQuery,
    response: ConsistencyProof,
    handle: (call) => proveConsistency(call.kernel, call.caller, call.param("workspace_id"), call.query),
  }),
];

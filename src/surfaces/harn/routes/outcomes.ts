/** Outcomes: what tasks came to. */

import { getOutcome, listOutcomes } from "../../../kernel/tasks/outcomes.ts";
import { presentPage } from "../lists.ts";
import { presentOutcome } from "../present.ts";
import { type Call, type Route, route } from "../route.ts";
import { ListOf, pageQuery } from "../schemas.ts";
import { Outcome } from "../schemas-task.ts";

const tag = "Outcomes";

function viewerOf({ kernel, caller, store, approvals }: Call<unknown, unknown>) {
  return { caller, store, approvals, receipts: kernel.receipts };
}

export const outcomeRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/outcomes",
    operationId: "listOutcomes",
    scope: "outcomes:read",
    summary: "List outcomes, newest first.",
    tag,
    query: pageQuery("workspace_id", "task_id"),
    response: ListOf(Outcome),
    async handle(call) {
      const { task_id, workspace_id, cursor, limit } = call.query;
      const request = { taskId: task_id, workspaceId: workspace_id, cursor, limit };
      const page = await listOutcomes(call.kernel, call.caller, request);
      return presentPage(page, (task) => presentOutcome(task, viewerOf(call)));
    },
  }),
  route({
    method: "GET",
    path: "/v1/outcomes/{outcome_id}",
    operationId: "getOutcome",
    scope: "outcomes:read",
    summary: "Read an outcome.",
    tag,
    response: Outcome,
    async handle(call) {
      const task = await getOutcome(call.kernel, call.caller, call.param("outcome_id"));
      return presentOutcome(task, viewerOf(call));
    },
  }),
];

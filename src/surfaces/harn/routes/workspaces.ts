/** Workspaces. */

import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import type { WorkspaceChanges } from "../../../kernel/kinds/workspace.ts";
import { createWorkspace } from "../../../kernel/workspaces/create-workspace.ts";
import { updateWorkspace } from "../../../kernel/workspaces/update-workspace.ts";
import { presentPage } from "../lists.ts";
import { jsonObject } from "../read-input.ts";
import { route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { CreateWorkspaceRequest, UpdateWorkspaceRequest, Workspace } from "../schemas-workspace.ts";

const tag = "Workspaces";

export const workspaceRoutes = [
  route({
    method: "GET",
    path: "/v1/workspaces",
    operationId: "listWorkspaces",
    scope: "workspaces:read",
    summary: "List workspaces, newest first.",
    tag,
    query: PageQuery,
    response: ListOf(Workspace),
    async handle(call) {
      return presentPage(
        await listRecords(call, call.caller, "workspace", call.query),
        (workspace) => workspace,
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/workspaces",
    operationId: "createWorkspace",
    scope: "workspaces:write",
    summary: "Create a workspace.",
    tag,
    status: 201,
    body: CreateWorkspaceRequest,
    response: Workspace,
    async handle(call) {
      const { name, root, capabilities, quota_id: quotaId, metadata } = call.body;
      const request = { name, root, capabilities, quotaId, metadata: jsonObject(metadata) };
      return await call.dispatch(createWorkspace, request);
    },
  }),
  route({
    method: "GET",
    path: "/v1/workspaces/{workspace_id}",
    operationId: "getWorkspace",
    scope: "workspaces:read",
    summary: "Read a workspace.",
    tag,
    response: Workspace,
    async handle(call) {
      return await getRecord(call, call.caller, "workspace", call.param("workspace_id"));
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/workspaces/{workspace_id}",
    operationId: "updateWorkspace",
    scope: "workspaces:write",
    summary: "Change a workspace.",
    tag,
    body: UpdateWorkspaceRequest,
    response: Workspace,
    async handle(call) {
      const { name, capabilities, quota_id, metadata } = call.body;
      const changes: WorkspaceChanges = {
        ...(name === undefined ? {} : { name }),
        ...(capabilities === undefined ? {} : { capabilities }),
        ...(quota_id === undefined ? {} : { quota_id }),
        ...(metadata === undefined ? {} : { metadata: jsonObject(metadata) ?? {} }),
      };
      return await call.dispatch(updateWorkspace, { workspaceId: call.param("workspace_id"), changes });
    },
  }),
];

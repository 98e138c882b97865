/** The files of a workspace. */

import { HarnessError } from "../../../kernel/core/errors.ts";
import { readWorkspaceFile } from "../../../kernel/workspaces/read-workspace-file.ts";
import { writeWorkspaceFile } from "../../../kernel/workspaces/write-workspace-file.ts";
import { jsonObject } from "../read-input.ts";
import { route } from "../route.ts";
import {
  FilePathQuery,
  WorkspaceFile,
  WorkspaceFileOrListing,
  WriteWorkspaceFileRequest,
} from "../schemas-vault.ts";

const tag = "Workspaces";
const path = "/v1/workspaces/{workspace_id}/files";

export const workspaceFileRoutes = [
  route({
    method: "GET",
    path,
    operationId: "readWorkspaceFile",
    scope: "workspaces:read",
    summary: "Read a text file of a workspace, or list one of its directories.",
    tag,
    query: FilePathQuery,
    response: WorkspaceFileOrListing,
    async handle(call) {
      const workspace_id = call.param("workspace_id");
      const { path: asked = "" } = call.query;
      const found = await readWorkspaceFile(call.kernel, call.caller, workspace_id, asked);
      if (found.kind === "file") {
        const { content, bytes, sha256 } = found;
        return { object: "file", workspace_id, path: asked, encoding: "utf-8", content, bytes, sha256 };
      }
      const prefix = asked === "" || asked === "." ? "" : `${asked}/`;
      const entries = found.entries.map((entry) => ({ ...entry, path: prefix + entry.name }));
      return { object: "file_listing", workspace_id, path: asked, entries };
    },
  }),
  route({
    method: "PUT",
    path,
    operationId: "writeWorkspaceFile",
    scope: "workspaces:write",
    summary: "Write a text file of a workspace.",
    tag,
    query: FilePathQuery,
    body: WriteWorkspaceFileRequest,
    response: WorkspaceFile,
    async handle(call) {
      const workspaceId = call.param("workspace_id");
      const { path: asked = call.query.path, content, metadata } = call.body;
      if (asked === undefined) {
        throw new HarnessError("invalid_request", "Missing required field: path", { param: "path" });
      }
      const request = { workspaceId, path: asked, content, metadata: jsonObject(metadata) };
      const { bytes, sha256 } = await call.dispatch(writeWorkspaceFile, request, request);
      return { object: "file", workspace_id: workspaceId, path: asked, encoding: "utf-8", bytes, sha256 };
    },
  }),
];

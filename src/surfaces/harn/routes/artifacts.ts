/** Artifacts: register, read, download. */

import { registerArtifact } from "../../../kernel/commands/register-artifact.ts";
import { getRecord, listRecords } from "../../../kernel/queries/read.ts";
import { readArtifact } from "../../../kernel/queries/read-artifact.ts";
import { presentPage } from "../lists.ts";
import { presentArtifact } from "../present.ts";
import { jsonObject } from "../read-input.ts";
import { route } from "../route.ts";
import { Artifact, ListOf, pageQuery, RegisterArtifactRequest } from "../schemas.ts";

const tag = "Artifacts";

export const artifactRoutes = [
  route({
    method: "GET",
    path: "/v1/artifacts",
    operationId: "listArtifacts",
    summary: "List artifacts, newest first.",
    tag,
    query: pageQuery("workspace_id", "session_id", "task_id"),
    response: ListOf(Artifact),
    async handle(call) {
      const { workspace_id, session_id, task_id, cursor, limit } = call.query;
      const request = { workspaceId: workspace_id, sessionId: session_id, taskId: task_id, cursor, limit };
      const page = await listRecords(call, call.caller, "artifact", request);
      return presentPage(page, (artifact) => presentArtifact(artifact, call));
    },
  }),
  route({
    method: "POST",
    path: "/v1/artifacts",
    operationId: "registerArtifact",
    summary: "Register an artifact that lives somewhere else.",
    tag,
    status: 201,
    body: RegisterArtifactRequest,
    response: Artifact,
    async handle(call) {
      const { kind, mime_type, uri, visibility, sha256, workspace_id, session_id, task_id, metadata } =
        call.body;
      const artifact = await call.dispatch(registerArtifact, {
        kind,
        mimeType: mime_type,
        uri,
        visibility,
        sha256,
        workspaceId: workspace_id,
        sessionId: session_id,
        taskId: task_id,
        metadata: jsonObject(metadata),
      });
      return await presentArtifact(artifact, call);
    },
  }),
  route({
    method: "GET",
    path: "/v1/artifacts/{artifact_id}",
    operationId: "getArtifact",
    summary: "Read an artifact's description.",
    tag,
    response: Artifact,
    async handle(call) {
      const artifact = await getRecord(call, call.caller, "artifact", call.param("artifact_id"));
      return await presentArtifact(artifact, call);
    },
  }),
  route({
    method: "GET",
    path: "/v1/artifacts/{artifact_id}/content",
    operationId: "downloadArtifactContent",
    summary: "Download an artifact's bytes.",
    tag,
    produces: "application/octet-stream",
    async handle(call) {
      const { artifact, bytes } = await readArtifact(call, call.caller, call.param("artifact_id"));
      call.reply
        .header("Content-Type", artifact.mime_type)
        .header("ETag", `"${artifact.sha256}"`)
        // What an agent wrote is never to be run by a browser that opens it.
        .header("X-Content-Type-Options", "nosniff")
        .header("Content-Disposition", "attachment");
      return Buffer.from(bytes);
    },
  }),
];

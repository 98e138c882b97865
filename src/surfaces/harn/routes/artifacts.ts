/** Artifacts: register, upload, read, download. */

import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { openArtifact } from "../../../kernel/artifacts/read-artifact.ts";
import { registerArtifact } from "../../../kernel/artifacts/register-artifact.ts";
import {
  receiveUpload,
  type UploadArtifact,
  uploadArtifact,
} from "../../../kernel/artifacts/upload-artifact.ts";
import { HarnessError } from "../../../kernel/core/errors.ts";
import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import type { OpenBlob } from "../../../store/port.ts";
import { toErrorAnswer } from "../errors.ts";
import { presentPage } from "../lists.ts";
import { presentArtifact } from "../present.ts";
import { isKnown, isSame, rangeOf } from "../ranges.ts";
import { jsonObject } from "../read-input.ts";
import { type Call, type Route, route, streamOf } from "../route.ts";
import { ListOf, pageQuery } from "../schemas.ts";
import { ArtifactBytes, UploadArtifactQuery } from "../schemas-vault.ts";
import { Artifact, RegisterArtifactRequest } from "../schemas-workspace.ts";
import type { Report } from "../surface.ts";

const tag = "Artifacts";

export function artifactRoutes(bytesMax: number, report: Report): Route[] {
  return [...describedArtifacts, downloadRoute(report), uploadRoute(bytesMax)];
}

const describedArtifacts: Route[] = [
  route({
    method: "GET",
    path: "/v1/artifacts",
    operationId: "listArtifacts",
    scope: "artifacts:read",
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
    scope: "artifacts:write",
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
    scope: "artifacts:read",
    summary: "Read an artifact's description.",
    tag,
    response: Artifact,
    async handle(call) {
      const artifact = await getRecord(call, call.caller, "artifact", call.param("artifact_id"));
      return await presentArtifact(artifact, call);
    },
  }),
];

/** What cannot be read to its end after the answer has begun is told to the log. */
function downloadRoute(report: Report): Route {
  return route({
    method: "GET",
    isHeadToo: true,
    path: "/v1/artifacts/{artifact_id}/content",
    operationId: "downloadArtifactContent",
    scope: "artifacts:read",
    summary: "Download an artifact's bytes, all of them or a range.",
    tag,
    produces: "application/octet-stream",
    handle: (call) => download(call, report),
  });
}

async function download(call: Call<unknown, unknown>, report: Report): Promise<unknown> {
  const { reply } = call;
  const { headers, method } = call.request;
  const { artifact, content } = await openArtifact(call.kernel, call.caller, call.param("artifact_id"));
  const etag = `"${artifact.sha256}"`;
  const describe = () =>
    reply
      .header("ETag", etag)
      .header("Accept-Ranges", "bytes")
      // What an agent or a caller wrote is never to be run by a browser that opens it.
      .header("X-Content-Type-Options", "nosniff")
      .header("Content-Disposition", "attachment");
  if (isKnown(headers["if-none-match"], etag)) {
    await content.close();
    return await describe().code(304).send();
  }
  const asked = isSame(headers["if-range"]?.toString(), etag)
    ? rangeOf(headers.range, content.bytes)
    : "whole";
  if (asked === "unsatisfiable") {
    await content.close();
    describe();
    return await sendUnsatisfiable(call, content.bytes);
  }
  const { start, end } = asked === "whole" ? { start: 0, end: content.bytes } : asked;
  // Damaged content is refused before the answer has begun, where that can be.
  const stream = method === "HEAD" ? null : await readOf(content, start, end);
  const status = asked === "whole" ? 200 : 206;
  describe()
    .code(status)
    .header("Content-Type", artifact.mime_type)
    .header("Content-Length", String(end - start));
  if (status === 206) reply.header("Content-Range", `bytes ${start}-${end - 1}/${content.bytes}`);
  if (stream === null) {
    await content.close();
    return await reply.send();
  }
  stream.once("error", (error) => report(error, call.request.id));
  return await reply.send(stream);
}

async function readOf(content: OpenBlob, start: number, end: number): Promise<Readable> {
  try {
    const stream = Readable.from(await content.read(start, end), { objectMode: false });
    // Also when the client is gone before the first byte was read.
    return stream.once("close", () => content.close());
  } catch (error) {
    await content.close();
    throw error;
  }
}

/** The protocol has no code for it; HTTP has a status. */
async function sendUnsatisfiable({ kernel, request, reply }: Call<unknown, unknown>, bytes: number) {
  const refusal = new HarnessError("invalid_request", `The content has ${bytes} bytes.`, { param: "Range" });
  const { body } = toErrorAnswer(refusal, request.id, kernel.redactor);
  return await reply.code(416).header("Content-Range", `bytes */${bytes}`).send(body);
}

function uploadRoute(bytesMax: number): Route {
  return route({
    method: "POST",
    path: "/v1/artifacts/upload",
    operationId: "uploadArtifact",
    scope: "artifacts:write",
    summary: "Upload an artifact: the body is its content, Content-Type its media type.",
    tag,
    status: 201,
    query: UploadArtifactQuery,
    body: ArtifactBytes,
    reads: "bytes",
    response: Artifact,
    async handle(call) {
      const { kind = "file", visibility = "public", name = null, ...rest } = call.query;
      const { workspace_id, session_id, task_id, sha256 = null } = rest;
      const mimeType = mediaTypeOf(call.request);
      const request: UploadArtifact = {
        kind,
        visibility,
        name,
        mimeType,
        workspaceId: workspace_id,
        sessionId: session_id,
        taskId: task_id,
      };
      const length = Number(call.request.headers["content-length"] ?? Number.NaN);
      const staged = await receiveUpload(call.kernel, call.caller, request, {
        source: streamOf(call.body),
        length: Number.isNaN(length) ? null : length,
        bytesMax,
        sha256,
      });
      try {
        const artifact = await call.dispatch(
          uploadArtifact,
          { ...request, staged },
          { ...call.query, mime_type: mimeType, sha256: staged.sha256 },
        );
        return await presentArtifact(artifact, call);
      } finally {
        await staged.discard();
      }
    },
  });
}

const mediaCharsMax = 200;

/** What was sent must be the content itself, or its hash would be of something else. */
function mediaTypeOf({ headers }: FastifyRequest): string {
  const media = headers["content-type"] ?? "application/octet-stream";
  const refuse = (message: string, param: string) => new HarnessError("invalid_request", message, { param });
  if (/^multipart\//i.test(media)) {
    throw refuse(
      "Send the content itself as the body, not a form: curl --data-binary @FILE.",
      "Content-Type",
    );
  }
  if (media.length > mediaCharsMax)
    throw refuse(`A media type has at most ${mediaCharsMax} characters.`, "Content-Type");
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity")
    throw refuse("Send the content as it is, without Content-Encoding.", "Content-Encoding");
  return media;
}

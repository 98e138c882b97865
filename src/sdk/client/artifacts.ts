/** Files that tasks take and make. What arrives is what was sent: both ways its hash is compared. */

import { readBytes, unreadable } from "./answers.ts";
import { segment, type Transport } from "./transport.ts";
import type { Artifact, CallOptions, WriteOptions } from "./types.ts";

export interface UploadArtifact extends WriteOptions {
  name?: string;
  /** `application/octet-stream` unless given, `text/plain` for text. */
  mimeType?: string;
  kind?: Artifact["kind"];
  visibility?: Artifact["visibility"];
  workspaceId?: string;
  sessionId?: string;
  taskId?: string;
}

export interface Content {
  bytes: Uint8Array<ArrayBuffer>;
  mimeType: string;
  /** In hex. */
  sha256: string;
}

export interface Artifacts {
  get(id: string, options?: CallOptions): Promise<Artifact>;
  upload(content: string | Uint8Array | Blob, options?: UploadArtifact): Promise<Artifact>;
  download(id: string, options?: CallOptions & { bytesMax?: number }): Promise<Content>;
}

/** What is held in memory at once, unless the caller wants more. */
const defaultBytesMax = 256 * 1024 * 1024;

export function createArtifacts(transport: Transport): Artifacts {
  return {
    get(id, { signal } = {}) {
      return transport.resource<Artifact>("artifact", `/v1/artifacts/${segment(id)}`, { signal });
    },
    async upload(
      content,
      { name, mimeType, kind, visibility, workspaceId, sessionId, taskId, ...rest } = {},
    ) {
      const bytes = await bytesOf(content);
      const query = {
        name,
        kind,
        visibility,
        workspace_id: workspaceId,
        session_id: sessionId,
        task_id: taskId,
        sha256: await sha256Of(bytes),
      };
      const sent = { bytes, mimeType: mimeType ?? mediaTypeOf(content) };
      const ask = { method: "POST", query, content: sent, ...rest } as const;
      return await transport.resource<Artifact>("artifact", "/v1/artifacts/upload", ask);
    },
    async download(id, { bytesMax = defaultBytesMax, signal } = {}) {
      const path = `/v1/artifacts/${segment(id)}/content`;
      return await transport.request(path, { signal }, async (response) => {
        const bytes = await readBytes(response, bytesMax);
        const sha256 = await sha256Of(bytes);
        if (response.headers.get("etag") !== `"${sha256}"`)
          throw unreadable("the content it says it is", response);
        return {
          bytes,
          mimeType: response.headers.get("content-type") ?? "application/octet-stream",
          sha256,
        };
      });
    },
  };
}

async function bytesOf(content: string | Uint8Array | Blob): Promise<Uint8Array<ArrayBuffer>> {
  if (typeof content === "string") return new TextEncoder().encode(content);
  return content instanceof Blob ? new Uint8Array(await content.arrayBuffer()) : new Uint8Array(content);
}

function mediaTypeOf(content: string | Uint8Array | Blob): string {
  if (typeof content === "string") return "text/plain; charset=utf-8";
  return content instanceof Blob && content.type !== "" ? content.type : "application/octet-stream";
}

async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

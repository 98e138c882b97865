/**
 * An artifact: durable content beside the conversation. Its bytes are a blob of ours (`blob`), somewhere else (`uri`),
 * or still arriving in chunks (`complete: false`).
 */

import type { KernelEvent } from "../core/events.ts";
import type { Resource, Visibility } from "./resource.ts";

export type ArtifactKind =
  | "file"
  | "patch"
  | "image"
  | "log"
  | "diff"
  | "receipt"
  | "snapshot"
  | "dataset"
  | "other";

export interface ArtifactRecord extends Resource<"artifact"> {
  workspace_id: string | null;
  session_id: string | null;
  task_id: string | null;
  /** The branch that it was made on: that of its task or session. */
  branch_id?: string;
  kind: ArtifactKind;
  name: string | null;
  mime_type: string;
  uri: string | null;
  visibility: Visibility;
  sha256: string | null;
  bytes: number | null;
  blob: string | null;
  complete: boolean;
  /** Whether the receipt of its task is about it: not what was registered after the task had ended. */
  in_receipt: boolean;
  /** Bytes of a caller, kept as they were sent: they do not travel with the log. */
  is_upload?: true;
  description?: string;
  extensions?: string[];
  /** Text that is shown as the bytes of a file. */
  is_file?: true;
}

export function foldArtifact(artifact: ArtifactRecord, event: KernelEvent): ArtifactRecord {
  if (event.event !== "artifact.updated") return artifact;
  const { completed } = event.payload;
  if (completed === null) return artifact;
  return {
    ...artifact,
    sha256: completed.sha256,
    blob: completed.is_erased === true ? null : completed.sha256,
    bytes: completed.bytes,
    complete: true,
    updated_at: event.createdAt,
  };
}

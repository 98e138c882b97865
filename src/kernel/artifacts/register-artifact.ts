/** Register an artifact that lives somewhere else: what it is, where it is, and the hash it must have. */

import type { JsonObject } from "../../store/port.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { ArtifactKind, ArtifactRecord } from "../kinds/artifact.ts";
import type { Visibility } from "../kinds/resource.ts";
import { assertNotErased } from "../retention/erasure/assert-not-erased.ts";
import { isFinal } from "../tasks/lifecycle.ts";

export interface RegisterArtifact {
  kind: ArtifactKind;
  mimeType: string;
  visibility: Visibility;
  uri?: string | null | undefined;
  sha256?: string | null | undefined;
  workspaceId?: string | null | undefined;
  sessionId?: string | null | undefined;
  taskId?: string | null | undefined;
  metadata?: JsonObject | undefined;
}

export const registerArtifact: Command<RegisterArtifact, ArtifactRecord> = {
  name: "register_artifact",
  scope: "artifacts:write",
  decide(unit, { uri = null, sha256, ...described }) {
    return emitArtifact(unit, described, {
      name: null,
      uri,
      sha256: sha256?.toLowerCase() ?? null,
      bytes: null,
      blob: null,
    });
  },
};

/** What an artifact is, wherever its content is. */
export type ArtifactDescription = Omit<RegisterArtifact, "uri" | "sha256">;

/** Puts an artifact into the log, and into the receipt of its task if that has not ended yet. */
export function emitArtifact(
  unit: Unit,
  request: ArtifactDescription,
  content: Pick<ArtifactRecord, "name" | "uri" | "sha256" | "bytes" | "blob" | "is_upload">,
  id?: string,
): ArtifactRecord {
  const place = placeOf(unit, request);
  const task = place.task_id === null ? undefined : unit.find("task", place.task_id);
  const isOver = task !== undefined && isFinal(task.status);
  // The receipt of a task that is about to end lists this artifact too.
  if (task !== undefined && !isOver) unit.touch(task);
  const envelope = unit.envelope("artifact", "artifact");
  const artifact: ArtifactRecord = {
    ...envelope,
    id: id ?? envelope.id,
    metadata: request.metadata ?? {},
    ...place,
    kind: request.kind,
    mime_type: request.mimeType,
    visibility: request.visibility,
    complete: true,
    in_receipt: place.task_id !== null && !isOver,
    ...content,
  };
  return unit.emit(artifact, "artifact.created", { artifact });
}

type Place = Pick<ArtifactRecord, "workspace_id" | "session_id" | "task_id" | "branch_id">;

/** A task says its session and a session its workspace; what the request says must agree. */
export function placeOf(unit: Unit, request: ArtifactDescription): Place {
  const task = request.taskId == null ? null : unit.require("task", request.taskId);
  const sessionId = agree("session_id", request.sessionId, task?.session_id);
  const session = sessionId === null ? null : unit.require("session", sessionId);
  if (session !== null) assertNotErased(session);
  const workspaceId = agree("workspace_id", request.workspaceId, session?.workspace_id);
  if (workspaceId !== null) unit.require("workspace", workspaceId);
  const fallback = () => unit.require("tenant", unit.caller.tenantId).default_workspace_id;
  const branchId = (task ?? session)?.branch_id ?? null;
  return {
    workspace_id: workspaceId ?? fallback(),
    session_id: sessionId,
    task_id: task?.id ?? null,
    ...(branchId === null ? {} : { branch_id: branchId }),
  };
}

function agree(param: string, said: string | null | undefined, known: string | undefined): string | null {
  if (said != null && known !== undefined && said !== known) {
    throw new HarnessError(
      "invalid_request",
      `${param} does not match the resource that was named beside it.`,
      {
        param,
      },
    );
  }
  return said ?? known ?? null;
}

/** The bytes of an artifact that the harness holds. */

import { type Caller, mayUse } from "../../policy/caller.ts";
import { HarnessError } from "../errors.ts";
import type { ArtifactRecord } from "../resources/artifact.ts";
import { getRecord, type ReadDeps } from "./read.ts";

export async function readArtifact(
  deps: ReadDeps,
  caller: Caller,
  id: string,
): Promise<{ artifact: ArtifactRecord; bytes: Uint8Array }> {
  const artifact = await getRecord(deps, caller, "artifact", id);
  if (artifact.visibility !== "public" && !mayUse(caller, "events:read_internal")) {
    throw new HarnessError(
      "permission_denied",
      "This content is internal; it needs the scope events:read_internal.",
    );
  }
  if (!artifact.complete) {
    throw new HarnessError("conflict", `Artifact ${id} is still being written.`, {
      details: { artifact_id: id },
    });
  }
  const bytes = artifact.blob === null ? undefined : await deps.store.blob(artifact.blob);
  if (bytes === undefined) {
    throw new HarnessError("resource_not_found", `The content of artifact ${id} is not held here.`, {
      details: { uri: artifact.uri },
    });
  }
  return { artifact, bytes };
}

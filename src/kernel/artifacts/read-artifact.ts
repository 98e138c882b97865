/** The bytes of an artifact that the harness holds. */

import { type Caller, mayUse } from "../../policy/caller.ts";
import type { OpenBlob } from "../../store/port.ts";
import { noteContentRead } from "../audit/content-reads.ts";
import { HarnessError } from "../core/errors.ts";
import { getRecord, type ReadDeps } from "../core/read.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { ArtifactRecord } from "../kinds/artifact.ts";

/** The whole content at once: for what is known to be small. */
export async function readArtifact(
  deps: ReadDeps,
  caller: Caller,
  id: string,
  bytesMax: number,
): Promise<{ artifact: ArtifactRecord; bytes: Uint8Array }> {
  const artifact = await readableArtifact(deps, caller, id);
  if ((artifact.bytes ?? 0) > bytesMax) throw tooLarge(artifact, bytesMax);
  const bytes = artifact.blob === null ? undefined : await deps.store.of(caller.tenantId).blob(artifact.blob);
  if (bytes === undefined) throw notHeld(artifact);
  return { artifact, bytes };
}

/** The content, to be read piece by piece and then closed. */
export async function openArtifact(
  deps: KernelDeps,
  caller: Caller,
  id: string,
): Promise<{ artifact: ArtifactRecord; content: OpenBlob }> {
  const artifact = await readableArtifact(deps, caller, id);
  const { session_id } = artifact;
  const of =
    session_id === null
      ? ({ kind: "artifact", id } as const)
      : ({ kind: "session", id: session_id } as const);
  await noteContentRead(deps, caller, of, "artifact");
  const content =
    artifact.blob === null ? undefined : await deps.store.of(caller.tenantId).openBlob(artifact.blob);
  if (content === undefined) throw notHeld(artifact);
  return { artifact, content };
}

function tooLarge({ id, bytes }: ArtifactRecord, bytesMax: number): HarnessError {
  return new HarnessError(
    "payload_too_large",
    `Artifact ${id} has ${bytes} bytes; here it may have ${bytesMax}.`,
    { param: "artifact_id", details: { bytes_max: bytesMax } },
  );
}

function notHeld({ id, uri }: ArtifactRecord): HarnessError {
  return new HarnessError("resource_not_found", `The content of artifact ${id} is not held here.`, {
    details: { uri },
  });
}

async function readableArtifact(deps: ReadDeps, caller: Caller, id: string): Promise<ArtifactRecord> {
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
  return artifact;
}

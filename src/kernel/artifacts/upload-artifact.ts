/** An artifact whose content a caller sends: taken as it arrives, hashed, and only then spoken of in the log. */

import type { Caller } from "../../policy/caller.ts";
import { BlobTooLarge, type StagedBlob, StoreUnavailable } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { decided } from "../core/decided.ts";
import type { Command } from "../core/dispatch.ts";
import { cannotWrite, HarnessError } from "../core/errors.ts";
import type { KernelDeps } from "../core/unit.ts";
import type { ArtifactRecord } from "../kinds/artifact.ts";
import { requireRoom, requireStorage, storageLeft, storageRefusal } from "../quotas/room.ts";
import { type ArtifactDescription, emitArtifact, placeOf } from "./register-artifact.ts";

export interface UploadArtifact extends ArtifactDescription {
  name: string | null;
}

const scope = "artifacts:write";

/** Uploads under way at once: each may fill as much of the disk as one upload may. */
const uploadsMax = 64;
const underWay = new WeakMap<KernelDeps["locks"], number>();

export interface Arriving {
  source: AsyncIterable<Uint8Array>;
  /** What the sender says its length is, if it does. */
  length: number | null;
  bytesMax: number;
  /** What it must turn out to be. */
  sha256: string | null;
}

/** Takes the content. Who may not upload it, or not there, is told before it is read. */
export async function receiveUpload(
  deps: KernelDeps,
  caller: Caller,
  request: UploadArtifact,
  arriving: Arriving,
): Promise<StagedBlob> {
  requireScope(caller, scope);
  const { length } = arriving;
  await decided(deps, caller, (unit) => {
    requireRoom(unit);
    placeOf(unit, request);
    if (length !== null && length > arriving.bytesMax) throw tooLarge(arriving);
    if (length !== null) requireStorage(unit, length);
  });
  const before = underWay.get(deps.locks) ?? 0;
  if (before >= uploadsMax) {
    throw new HarnessError("rate_limited", `${uploadsMax} uploads are under way already; try again soon.`);
  }
  underWay.set(deps.locks, before + 1);
  try {
    return await stage(deps, caller, arriving);
  } finally {
    underWay.set(deps.locks, (underWay.get(deps.locks) ?? 1) - 1);
  }
}

async function stage(deps: KernelDeps, caller: Caller, arriving: Arriving): Promise<StagedBlob> {
  const limit = await decided(deps, caller, storageLeft);
  const isLimited = limit !== null && limit.left < arriving.bytesMax;
  const bytesMax = isLimited ? limit.left : arriving.bytesMax;
  const staged = await deps.store.stageBlob(arriving.source, bytesMax).catch((error: unknown) => {
    if (isLimited && error instanceof BlobTooLarge) throw storageRefusal(caller, limit);
    if (error instanceof StoreUnavailable) throw cannotWrite(error.fault ?? "the write failed", error);
    throw error instanceof BlobTooLarge ? tooLarge(arriving) : error;
  });
  const isExpected = arriving.sha256 === null || arriving.sha256.toLowerCase() === staged.sha256;
  if (isExpected) return staged;
  await staged.discard();
  throw new HarnessError("invalid_request", "The content does not have the hash that was given with it.", {
    param: "sha256",
    details: { expected: arriving.sha256, found: staged.sha256, bytes: staged.bytes },
  });
}

function tooLarge({ bytesMax }: Arriving): HarnessError {
  return new HarnessError("payload_too_large", `An artifact has at most ${bytesMax} bytes here.`, {
    details: { bytes_max: bytesMax },
  });
}

export const uploadArtifact: Command<UploadArtifact & { staged: StagedBlob }, ArtifactRecord> = {
  name: "upload_artifact",
  scope,
  decide(unit, { staged, name, ...described }) {
    const { sha256, bytes } = staged;
    const id = unit.newId("artifact");
    const uri = `/v1/artifacts/${id}/content`;
    const content = { name, uri, sha256, bytes, blob: sha256, is_upload: true } as const;
    unit.keepStaged(staged);
    const artifact = emitArtifact(unit, described, content, id);
    unit.awaited("keep", () => staged.keep());
    return artifact;
  },
};

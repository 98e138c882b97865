/**
 * What approvers signed, beside an exported bundle of receipts: receipts have the hashes of the artifacts, and this file the
 * artifacts, one a line. Each is recognized by its hash, so the file needs no signature of its own.
 */

import { createReadStream, existsSync } from "node:fs";
import { type Artifact, hashOfArtifact, readArtifact } from "../../harp/core/artifact.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { isRecord } from "../../sdk/client/errors.ts";
import { type Remote, splitLines } from "../remote.ts";
import { writeLines } from "../terminal/output.ts";

export const artifactsOf = (bundle: string) => `${bundle}.artifacts.jsonl`;

/** Reads the bundle that was written, and asks the server for every artifact that a signature in it is about. */
export async function writeArtifacts(remote: Remote, bundle: string): Promise<number> {
  return await writeLines(artifactLines(remote, bundle), artifactsOf(bundle), () => {});
}

async function* artifactLines(remote: Remote, bundle: string): AsyncGenerator<string> {
  // An approval is in the receipt of its task and in those of parts of it.
  const written = new Set<string>();
  for await (const { approvalId, hashes } of signedIn(bundle)) {
    if (written.has(approvalId)) continue;
    written.add(approvalId);
    const path = `/v1/permission-requests/${encodeURIComponent(approvalId)}/proof`;
    const { artifacts } = await remote.json<{ artifacts: Artifact[] }>("GET", path);
    for (const artifact of artifacts) {
      if (hashes.includes(artifact.artifactHash)) yield JSON.stringify({ approval_id: approvalId, artifact });
    }
  }
}

export interface CheckedArtifacts {
  file: string;
  /** Signatures in the bundle. */
  signed: number;
  /** Those whose artifact is there and unchanged. */
  found: number;
}

/** Null where no artifacts were exported with the bundle. */
export async function checkArtifacts(bundle: string): Promise<CheckedArtifacts | null> {
  const file = artifactsOf(bundle);
  if (!existsSync(file)) return null;
  const known = new Set<string>();
  for await (const line of splitLines(createReadStream(file))) {
    const hash = await hashIn(line);
    if (hash !== null) known.add(hash);
  }
  const checked = { file, signed: 0, found: 0 };
  for await (const { hashes } of signedIn(bundle)) {
    checked.signed += hashes.length;
    checked.found += hashes.filter((hash) => known.has(hash)).length;
  }
  return checked;
}

/** Computed, whatever it says itself; null for what is no artifact. */
async function hashIn(line: string): Promise<string | null> {
  try {
    const entry: unknown = JSON.parse(line);
    return await hashOfArtifact(readArtifact(isRecord(entry) ? entry.artifact : null));
  } catch (error) {
    if (error instanceof HarpError || error instanceof SyntaxError) return null;
    throw error;
  }
}

interface Signed {
  approvalId: string;
  hashes: string[];
}

async function* signedIn(bundle: string): AsyncGenerator<Signed> {
  for await (const line of splitLines(createReadStream(bundle))) {
    const receipt: unknown = JSON.parse(line);
    const approvals: unknown[] =
      isRecord(receipt) && Array.isArray(receipt.approvals) ? receipt.approvals : [];
    for (const approval of approvals) {
      if (!isRecord(approval)) continue;
      const harp = isRecord(approval.quorum_proof) ? approval.quorum_proof.harp : null;
      const decisions: unknown[] = isRecord(harp) && Array.isArray(harp.decisions) ? harp.decisions : [];
      const hashes = decisions.flatMap((signed) => {
        const decision = isRecord(signed) ? signed.decision : null;
        return isRecord(decision) && typeof decision.artifactHash === "string" ? [decision.artifactHash] : [];
      });
      if (hashes.length > 0) yield { approvalId: String(approval.approval_id), hashes };
    }
  }
}

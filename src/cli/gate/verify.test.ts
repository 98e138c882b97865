/** The gate's own look at signatures: what a server or a gateway forges, swaps, replays or leaves out is never a yes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Artifact, finishArtifact } from "../../harp/core/artifact.ts";
import { encodeBase64url } from "../../harp/core/base64url.ts";
import { rebuildDecisions, signDecision, type Verdict } from "../../harp/core/decision.ts";
import { type ApproverKeys, generateApproverKeys } from "../../harp/core/keys.ts";
import { Denied } from "./denial.ts";
import { digestOf, type PermissionProof, verifySigned } from "./verify.ts";

const nowMs = Date.parse("2026-11-19T10:00:00Z");
const request = { kind: "command", argv: ["deploy", "eu"], cwd: "/work", nonce: "n" };
const asked = { action: "run deploy eu", risk: "high", request, digest: digestOf(request) };
const usual = { action: asked.action, risk: asked.risk };

async function artifactFor(shown: object, said: Partial<typeof usual> = {}): Promise<Artifact> {
  return await finishArtifact({
    requestId: "perm_1.1",
    artifactType: "command.review",
    repoRef: "workspace:w",
    createdAt: "2026-11-19T09:59:00Z",
    expiresAt: "2026-11-19T10:10:00Z",
    payload: { ...usual, ...said, details: JSON.stringify(shown), binding: "b" },
  });
}

async function proofFor(
  artifact: Artifact,
  keys: ApproverKeys,
  decision: Verdict = "allow",
): Promise<PermissionProof> {
  const body = await signDecision({ artifact, decision, keys, nowMs });
  const rebuilt = rebuildDecisions(artifact, body)[0] ?? assert.fail();
  const publicKey = encodeBase64url(new Uint8Array(keys.ed25519.publicKey));
  return {
    permission_request_id: "perm_1",
    task_id: "task_1",
    session_id: "session_1",
    status: "approved",
    proof: {
      profile: "harp-0.2",
      quorum: 1,
      decisions: [{ decision: rebuilt, publicKey, approverId: "ann" }],
    },
    artifacts: [artifact],
    reason: null,
    used_at: null,
    is_valid: true,
    problem: null,
  };
}

test("GAT-5 only a fresh signature over exactly what was asked is a yes", async () => {
  const [ann, mallory] = [
    await generateApproverKeys(new Date(nowMs)),
    await generateApproverKeys(new Date(nowMs)),
  ];
  const artifact = await artifactFor({ ...request, digest: asked.digest });
  const good = await proofFor(artifact, ann);
  await verifySigned(good, asked, nowMs);
  const evil = { ...request, argv: ["deploy", "us"] };
  const other = await artifactFor({ ...evil, digest: digestOf(evil) });
  const disguised = await artifactFor({ ...request, digest: digestOf(evil) });
  const misleading = await artifactFor({ ...evil, digest: asked.digest });
  const renamed = await artifactFor({ ...request, digest: asked.digest }, { action: "list files" });
  const harmless = await artifactFor({ ...request, digest: asked.digest }, { risk: "low" });
  const foreign = await proofFor(artifact, mallory);
  const [signed] = good.proof?.decisions ?? [];
  const [strange] = foreign.proof?.decisions ?? [];
  assert.ok(signed !== undefined && strange !== undefined && good.proof !== null);
  const withDecision = (decision: object) => ({
    ...good,
    proof: { ...good.proof, decisions: [{ ...signed, ...decision }] },
  });
  const forged: Record<string, unknown> = {
    "nothing was signed": { ...good, proof: null },
    "it says approved without a decision": { ...good, proof: { ...good.proof, decisions: [] } },
    "it is pending": { ...good, status: "pending" },
    "it was denied": await proofFor(artifact, ann, "deny"),
    "deny turned into allow": withDecision({
      decision: {
        ...(await proofFor(artifact, ann, "deny")).proof?.decisions[0]?.decision,
        decision: "allow",
      },
    }),
    "another key": withDecision({ publicKey: strange.publicKey }),
    "another signature": withDecision({
      decision: { ...signed.decision, signature: strange.decision.signature },
    }),
    "a longer time": withDecision({ decision: { ...signed.decision, expiresAt: "2027-01-01T00:00:00Z" } }),
    "another artifact with its own signature": await proofFor(other, ann),
    "a digest of something else": await proofFor(disguised, ann),
    "something else was shown": await proofFor(misleading, ann),
    "it was called something else": await proofFor(renamed, ann),
    "another risk was shown": await proofFor(harmless, ann),
    "the artifact was swapped": { ...good, artifacts: [other] },
    "the artifact is missing": { ...good, artifacts: [] },
    "the artifact was edited": {
      ...good,
      artifacts: [{ ...artifact, payload: { ...artifact.payload, action: "nice" } }],
    },
    "the key was revoked": { ...good, is_valid: false, problem: "revoked" },
    "more people had to agree": { ...good, proof: { ...good.proof, quorum: 2 } },
    "the proof is no proof": { ...good, proof: "yes" },
  };
  for (const [what, proof] of Object.entries(forged)) {
    await assert.rejects(verifySigned(proof as PermissionProof, asked, nowMs), what);
  }
  await assert.rejects(verifySigned(good, asked, nowMs + 20 * 60_000), Denied, "it comes too late");
  await assert.rejects(
    verifySigned(good, { ...asked, request: evil, digest: digestOf(evil) }, nowMs),
    Denied,
    "replayed for another",
  );
});

test("GAT-5 a credential may be missing from what was signed, and nothing else may", async () => {
  const ann = await generateApproverKeys(new Date(nowMs));
  const secret = { ...request, argv: ["deploy", "--token=Zm9vYmFyYmF6", "eu"] };
  const real = { ...asked, request: secret, digest: digestOf(secret) };
  const signed = async (word: string) => {
    const shown = { ...secret, argv: ["deploy", word, "eu"], digest: real.digest };
    return await proofFor(await artifactFor(shown), ann);
  };
  for (const word of [
    "--token=[redacted:secret]",
    "[redacted:secret]",
    "--[redacted:secret]Y[redacted:secret]",
  ])
    await verifySigned(await signed(word), real, nowMs);
  for (const word of [
    "--dry-run [redacted:secret]",
    "--token=[redacted:secret] --dry-run",
    "--token=Zm9vYmFyYmF6[redacted:secret]",
    "--token=[redacted:secret]Z[redacted:secret]",
    "[redacted",
    "[redacted:harmless]",
  ])
    await assert.rejects(verifySigned(await signed(word), real, nowMs), Denied, word);
});

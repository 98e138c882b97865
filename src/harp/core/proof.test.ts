/** Proofs of approval: valid for as many people as signed, whoever hands them over. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  v1,
  v1NowMs,
  v2PublicKey,
  v2Signature,
  v2Text,
  variantOfV1,
} from "../../../test/support/approval-samples.ts";
import { encodeBase64url } from "./base64url.ts";
import { type Decision, rebuildDecisions, signDecision } from "./decision.ts";
import { type ApproverKeys, generateApproverKeys } from "./keys.ts";
import { type ApprovalProof, type SignedApproval, verifyApprovalProof } from "./proof.ts";

const [ada, grace] = [
  await generateApproverKeys(new Date(v1NowMs)),
  await generateApproverKeys(new Date(v1NowMs)),
];

/** Each of a request of its own, as they are asked. */
async function approvalBy(
  keys: ApproverKeys,
  approverId: string,
  verdict: "allow" | "deny" = "allow",
): Promise<SignedApproval> {
  const artifact = await variantOfV1({ requestId: `request-of-${approverId}` });
  const [decision] = rebuildDecisions(artifact, await signDecision({ artifact, decision: verdict, keys }));
  assert.ok(decision);
  return { decision, publicKey: encodeBase64url(keys.ed25519.publicKey), approverId };
}

const adas = await approvalBy(ada, "ada");
const graces = await approvalBy(grace, "grace");
const proof: ApprovalProof = { profile: "harp-0.2", quorum: 2, decisions: [adas, graces] };

async function refusal(value: unknown): Promise<string | null> {
  const { valid, why, approvers } = await verifyApprovalProof(value);
  assert.equal(valid, false);
  assert.deepEqual(approvers, []);
  return why;
}

describe("proof of approval", () => {
  test("a proof with enough approvers, sent as text, is valid and names them", async () => {
    // Given enough approvers, when the proof is verified after a journey as text, then it is valid and names them.
    assert.deepEqual(await verifyApprovalProof(JSON.parse(JSON.stringify(proof))), {
      valid: true,
      why: null,
      approvers: ["ada", "grace"],
    });
    const { valid, approvers } = await verifyApprovalProof({ ...proof, quorum: 1 });
    assert.deepEqual([valid, approvers], [true, ["ada", "grace"]]);
  });

  test("given too few, when the proof is verified, then it is not valid", async () => {
    assert.match(
      (await refusal({ ...proof, decisions: [adas] })) ?? "",
      /2 approvers were required, 1 approved/,
    );
    assert.match((await refusal({ ...proof, quorum: 3 })) ?? "", /3 approvers were required/);
  });

  test("given one person with two keys, or twice, when the proof is verified, then they count once", async () => {
    assert.match(
      (await refusal({ ...proof, decisions: [adas, { ...graces, approverId: "ada" }] })) ?? "",
      /1 approved/,
    );
    assert.match(
      (await refusal({ ...proof, decisions: [adas, await approvalBy(ada, "ada")] })) ?? "",
      /1 approved/,
    );
    assert.match((await refusal({ ...proof, decisions: [adas, adas] })) ?? "", /1 approved/);
  });

  test("given one key under two names, when the proof is verified, then it is not valid", async () => {
    const again = await approvalBy(ada, "grace");
    assert.match((await refusal({ ...proof, decisions: [adas, again] })) ?? "", /One key/);
    assert.match((await refusal({ ...proof, quorum: 1, decisions: [adas, again] })) ?? "", /One key/);
  });

  test("a denial makes the proof invalid, however many others approved", async () => {
    // Given a denial, when the proof is verified, then it is not valid, however many others approved.
    const denial = await approvalBy(grace, "grace", "deny");
    assert.match(
      (await refusal({ ...proof, quorum: 1, decisions: [adas, denial] })) ?? "",
      /not an approval/,
    );
  });

  test("HARP-122 changing any member of a decision makes the proof invalid", async () => {
    // Given any member of a decision that was changed, when the proof is verified, then it is not valid.
    const changes: Partial<Decision>[] = [
      { requestId: "another" },
      { repoRef: "repo:acme/gadgets" },
      { artifactHash: v1.artifactHash },
      { scope: "timebox" },
      { expiresAt: "2026-03-21T12:10:00Z" },
      { nonce: "another" },
      { policyHints: {} },
      { signature: graces.decision.signature },
    ];
    for (const change of changes) {
      const changed = { ...adas, decision: { ...adas.decision, ...change } };
      assert.match(
        (await refusal({ ...proof, decisions: [changed, graces] })) ?? "",
        /not signed by its key/,
      );
    }
    const turned = await approvalBy(grace, "grace", "deny");
    const flipped = { ...turned, decision: { ...turned.decision, decision: "allow" } };
    assert.match((await refusal({ ...proof, decisions: [adas, flipped] })) ?? "", /not signed by its key/);
  });

  test("a key whose id is not its fingerprint makes the proof invalid", async () => {
    // Given a key that its id is not the fingerprint of, when the proof is verified, then it is not valid.
    const swapped = { ...adas, publicKey: graces.publicKey };
    assert.match((await refusal({ ...proof, decisions: [swapped, graces] })) ?? "", /another key/);
    const published = { ...JSON.parse(v2Text), signature: v2Signature };
    const named = { decision: published, publicKey: v2PublicKey, approverId: "ada" };
    assert.match((await refusal({ ...proof, quorum: 1, decisions: [named] })) ?? "", /another key/);
  });

  const malformed: [string, unknown][] = [
    ["nothing", undefined],
    ["null", null],
    ["a text", "approved"],
    ["another profile", { ...proof, profile: "harp-0.3" }],
    ["no quorum", { ...proof, quorum: 0 }],
    ["a fraction of a quorum", { ...proof, quorum: 0.5 }],
    ["no decisions", { ...proof, decisions: [] }],
    ["too many decisions", { ...proof, decisions: new Array(65).fill(adas) }],
    ["a member that is not known", { ...proof, approved: true }],
    [
      "another algorithm",
      { ...proof, decisions: [{ ...adas, decision: { ...adas.decision, sigAlg: "none" } }] },
    ],
    ["no key", { ...proof, decisions: [{ ...adas, publicKey: "" }] }],
  ];
  for (const [what, value] of malformed) {
    test(`given ${what}, when it is verified, then it is said, not thrown`, async () => {
      assert.notEqual(await refusal(value), null);
    });
  }
});

/** Decisions: the published ones verify, and not one bit of them can be changed. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import {
  publishedApprover,
  repeated,
  sessionV1,
  v1,
  v1NowMs,
  v2PublicKey,
  v2Signature,
  v2Text,
} from "../../../test/support/approval-samples.ts";
import { decodeBase64url, encodeBase64url } from "./base64url.ts";
import { canonicalText, parseCanonical } from "./canonical.ts";
import {
  type Decision,
  decisionHashOf,
  readDecision,
  readDecisionBody,
  reasonBytesMax,
  rebuildDecisions,
  signableBytes,
  signDecision,
  verifySignature,
} from "./decision.ts";
import { generateApproverKeys } from "./keys.ts";

const v2: Decision = readDecision({ ...JSON.parse(v2Text), signature: v2Signature });
const v2Key = decodeBase64url(v2PublicKey, 32);
const keys = await publishedApprover();
const malformed = { code: "HARP_ERR_TRANSPORT" };

/** All the way: read as strictly as anything is, then verified. */
async function isAccepted(signable: Uint8Array, signature: string): Promise<boolean> {
  try {
    const fields = parseCanonical(signable);
    if (typeof fields !== "object") return false;
    return await verifySignature(readDecision({ ...fields, signature }), v2Key);
  } catch {
    return false;
  }
}

describe("published decision", () => {
  test("HARP-1 given the published decision, when what is signed is written, then its 319 bytes", () => {
    assert.equal(Buffer.from(signableBytes(v2)).toString(), v2Text);
    assert.equal(signableBytes(v2).length, 319);
  });

  test("HARP-10 the published signature verifies with the published key", async () => {
    // Given the published signature, when it is verified with the published key, then it is good.
    assert.equal(await verifySignature(v2, v2Key), true);
    assert.equal(await isAccepted(signableBytes(v2), v2Signature), true);
  });

  test("HARP-11 given what was signed, when any bit of any byte is flipped, then it is refused", async () => {
    const bytes = signableBytes(v2);
    for (let i = 0; i < bytes.length * 8; i++) {
      const changed = bytes.slice();
      changed[i >> 3] = (bytes[i >> 3] ?? 0) ^ (1 << (i & 7));
      assert.equal(await isAccepted(changed, v2Signature), false, `bit ${i}`);
    }
  });

  test("HARP-11 given what was signed, when any single byte becomes any other, then it is refused", async () => {
    const bytes = signableBytes(v2);
    const change = fc.record({ at: fc.nat({ max: bytes.length - 1 }), to: fc.nat({ max: 255 }) });
    await fc.assert(
      fc.asyncProperty(
        change.filter(({ at, to }) => bytes[at] !== to),
        async ({ at, to }) => assert.equal(await isAccepted(bytes.with(at, to), v2Signature), false),
      ),
      { numRuns: cases(1000) },
    );
  });

  test("HARP-12, HARP-122 given the signature, when any bit of it is flipped, then it is refused", async () => {
    const bytes = decodeBase64url(v2Signature, 64);
    for (let i = 0; i < 512; i++) {
      const changed = bytes.slice();
      changed[i >> 3] = (bytes[i >> 3] ?? 0) ^ (1 << (i & 7));
      assert.equal(
        await verifySignature({ ...v2, signature: encodeBase64url(changed) }, v2Key),
        false,
        `bit ${i}`,
      );
    }
  });

  const misspelled: [string, string][] = [
    ["truncated by a character", v2Signature.slice(0, -1)],
    ["truncated by a byte", encodeBase64url(decodeBase64url(v2Signature).subarray(0, 63))],
    ["longer by a byte", encodeBase64url(new Uint8Array([...decodeBase64url(v2Signature), 0]))],
    ["padded", `${v2Signature}==`],
    ["in standard base64", v2Signature.replaceAll("-", "+").replaceAll("_", "/")],
    ["with other bits behind the last byte", `${v2Signature.slice(0, -1)}B`],
    ["followed by a line break", `${v2Signature}\n`],
    ["empty", ""],
  ];
  for (const [what, signature] of misspelled) {
    test(`HARP-12 given the signature ${what}, when it is read or verified, then it is refused`, async () => {
      assert.notEqual(signature, v2Signature);
      assert.throws(() => readDecision({ ...v2, signature }), malformed);
      assert.equal(await verifySignature({ ...v2, signature }, v2Key), false);
    });
  }

  test("HARP-13 given a valid signature, when it is verified with another key, then it is refused", async () => {
    assert.equal(await verifySignature(v2, keys.ed25519.publicKey), false);
    const { ed25519 } = await generateApproverKeys(new Date(v1NowMs));
    assert.equal(await verifySignature(v2, ed25519.publicKey), false);
    assert.equal(await verifySignature(v2, v2Key.subarray(1)), false);
  });
});

describe("reading a decision", () => {
  for (const sigAlg of ["ES256", "ed25519", "EdDSA", "none", "", null]) {
    test(`HARP-14, HARP-124 rejects ${JSON.stringify(sigAlg)} as an unsupported signature algorithm`, () => {
      // Given ${JSON.stringify(sigAlg)} as its algorithm, when it is read, then it is refused as unsupported.
      assert.throws(() => readDecision({ ...v2, sigAlg }), { code: "HARP_ERR_UNSUPPORTED" });
    });
  }

  test("HARP-124 rejects another hash algorithm as unsupported", () => {
    // Given another algorithm of the hash, when it is read, then it is refused as unsupported.
    assert.throws(() => readDecision({ ...v2, artifactHashAlg: "SHA-1" }), { code: "HARP_ERR_UNSUPPORTED" });
  });

  const outside: [string, unknown][] = [
    ...["approve", "reject", "Allow", "yes", "", true].map((decision): [string, unknown] => [
      "decision",
      decision,
    ]),
    ...["twice", "ONCE", "forever", "", 1].map((scope): [string, unknown] => ["scope", scope]),
  ];
  for (const [name, value] of outside) {
    test(`HARP-15 given ${JSON.stringify(value)} as its ${name}, when it is read, then it is refused`, () => {
      assert.throws(() => readDecision({ ...v2, [name]: value }), malformed);
    });
  }

  test("given a member too many or too few, when it is read, then it is refused", () => {
    assert.throws(() => readDecision({ ...v2, reason: "fine" }), malformed);
    for (const name of Object.keys(v2)) {
      const rest = Object.fromEntries(Object.entries(v2).filter(([each]) => each !== name));
      assert.throws(() => readDecision(rest), malformed, name);
    }
  });

  test("HARP-16 the signature covers the policy hints", async () => {
    // Given policy hints, when the decision is signed, then they are part of what is signed.
    const body = await signDecision({ artifact: sessionV1, decision: "allow", keys, useOfferedTerms: true });
    const [decision] = rebuildDecisions(sessionV1, body);
    assert.ok(decision);
    assert.match(Buffer.from(signableBytes(decision)).toString(), /"policyHints":\{"sessionId":"01J2V8V3M2/);
    assert.equal(await verifySignature(decision, keys.ed25519.publicKey), true);
    const { policyHints: _hints, ...stripped } = decision;
    assert.equal(await verifySignature(stripped, keys.ed25519.publicKey), false);
    const changed = { ...decision, policyHints: { sessionId: "other" } };
    assert.equal(await verifySignature(changed, keys.ed25519.publicKey), false);
  });
});

describe("signing", () => {
  const published = [
    {
      what: "an approval with default terms",
      artifact: v1,
      decision: "allow",
      useOfferedTerms: false,
      nonce: 0x77,
      length: 363,
      decisionHash: "sha256:d8604073f6431556de884969ac47d2ff8206c109ea0a66f17a6d1d18a5053fdd",
      signature: "rDXLGlWFm_CQ5BZYlgEIBY-uNv_2ToNILkW7lWu4upB0VoA8BP-KrKkECIuwLbfbdYcOlXtEe2g9Xv9A2_JaCQ",
    },
    {
      what: "a rejection",
      artifact: v1,
      decision: "deny",
      useOfferedTerms: false,
      nonce: 0x78,
      length: 362,
      decisionHash: "sha256:c1f6274e065d7eade32a6fadc196592cfc56f3883f716f4db669bc640a28a34b",
      signature: "Fgz-GfkXCQxADp4OIzah4DcxRaEntI7HjlX4Z9yZfX1gmQ1whyldaI5RyyORhi7E-pHH8PMR5hmwOnCi8Zj0AQ",
    },
    {
      what: "an approval with the terms of a session",
      artifact: sessionV1,
      decision: "allow",
      useOfferedTerms: true,
      nonce: 0x79,
      length: 423,
      decisionHash: "sha256:72f0471bcba8368bfff214cccba2ce06fff5b00207faeadf0f2212e60c3ffd39",
      signature: "lInkNaW_Z9bOLdaPo-ketV-zWaJMzeMVp_9n4a3r8Ip59XJy6y8-tVvPR01625Z3wHrPP_82wAZI8ZlYWVwtBA",
    },
    {
      what: "an approval for less than what was offered",
      artifact: sessionV1,
      decision: "allow",
      useOfferedTerms: false,
      nonce: 0x7a,
      length: 363,
      decisionHash: "sha256:f092c6f0edd04449fa5eeedc50cb99d8c28eb9fb3e521f0aa14e70484c407295",
      signature: "pNpVJqruRY_bAz2-lV7rtG7qn1YW-W3FetWTp8XBl5gmCmEe304VBwu9WtI1tCjVnHzx3llkn-sCqXSiRl48BQ",
    },
  ] as const;
  for (const {
    what,
    artifact,
    decision,
    useOfferedTerms,
    nonce,
    length,
    decisionHash,
    signature,
  } of published) {
    test(`HARP-21 ${what} is signed with the published bytes, hash and signature`, async () => {
      // Given ${what}, when it is signed, then bytes, hash and signature are the published ones.
      const text = encodeBase64url(repeated(nonce, 16));
      const body = await signDecision({ artifact, decision, keys, nonce: text, useOfferedTerms });
      assert.deepEqual(body, {
        artifactHash: `sha256:${artifact.artifactHash}`,
        decision: decision === "allow" ? "approve" : "reject",
        signerKeyId: "97dnbJTffo_ZmY44-f_wTYWIsA0YAXZOPxh3o_6uRHc",
        nonce: text,
        signature,
        decisionHash,
      });
      const rebuilt = rebuildDecisions(artifact, body);
      const hashes = await Promise.all(rebuilt.map(decisionHashOf));
      const signed = rebuilt[hashes.indexOf(decisionHash)];
      assert.equal(signed && signableBytes(signed).length, length);
      assert.equal(signed && (await verifySignature(signed, keys.ed25519.publicKey)), true);
    });
  }

  test("HARP-21 rebuilding the first example's signed content gives the published 363 bytes", () => {
    // Given the first example, when what is signed is put together again, then its 363 bytes are the published ones.
    const nonce = "d3d3d3d3d3d3d3d3d3d3dw";
    const body = {
      artifactHash: v1.artifactHash,
      decision: "approve",
      signerKeyId: keys.signerKeyId,
      nonce,
      signature: v2Signature,
    } as const;
    const [decision] = rebuildDecisions(v1, body);
    assert.equal(
      decision && Buffer.from(signableBytes(decision)).toString(),
      '{"artifactHash":"8e326e1f69e5859a3b5b12965f06b5829f09b12d1748aa2fddb609fb44f831c1","artifactHashAlg":"SHA-256","decision":"allow","expiresAt":"2026-02-21T12:10:00Z","nonce":"d3d3d3d3d3d3d3d3d3d3dw","repoRef":"repo:acme/widgets","requestId":"01J2V8V3K6B2Z9X6G1V7Y2QK8H","scope":"once","sigAlg":"Ed25519","signerKeyId":"97dnbJTffo_ZmY44-f_wTYWIsA0YAXZOPxh3o_6uRHc"}',
    );
  });

  test("given no nonce, when two decisions are signed, then theirs are random and differ", async () => {
    const bodies = [
      await signDecision({ artifact: v1, decision: "deny", keys }),
      await signDecision({ artifact: v1, decision: "deny", keys }),
    ];
    for (const { nonce } of bodies) assert.equal(decodeBase64url(nonce).length, 16);
    assert.notEqual(bodies[0]?.nonce, bodies[1]?.nonce);
  });

  test("a denial has the default terms even when the offered terms are requested", async () => {
    // Given a denial, when offered terms are to be used, then it has the default ones all the same.
    const body = await signDecision({ artifact: sessionV1, decision: "deny", keys, useOfferedTerms: true });
    const rebuilt = rebuildDecisions(sessionV1, body);
    assert.equal(rebuilt.length, 1);
    assert.equal(rebuilt[0]?.scope, "once");
    assert.equal(rebuilt[0] && (await verifySignature(rebuilt[0], keys.ed25519.publicKey)), true);
  });

  test("given an artifact that is not what its hash says, when it is to be signed, then nothing is", async () => {
    const artifact = { ...v1, payload: { title: "Something else" } };
    await assert.rejects(signDecision({ artifact, decision: "allow", keys }), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
  });

  test("given an artifact at its end, when it is to be signed, then nothing is", async () => {
    const nowMs = Date.parse(v1.expiresAt);
    const signing = { artifact: v1, decision: "allow", keys } as const;
    await signDecision({ ...signing, nowMs: nowMs - 1 });
    await assert.rejects(signDecision({ ...signing, nowMs }), { code: "HARP_ERR_EXPIRED" });
  });

  test("signs a reason of the maximum length and rejects a longer one", async () => {
    // Given a reason, when it is as long as a gateway takes or longer, then only the first is signed.
    const signing = { artifact: v1, decision: "deny", keys } as const;
    const reason = "é".repeat(reasonBytesMax / 2);
    assert.equal((await signDecision({ ...signing, reason })).reason, reason);
    await assert.rejects(signDecision({ ...signing, reason: `${reason}.` }), malformed);
  });
});

const body = await signDecision({ artifact: v1, decision: "allow", keys, reason: "Looks good" });

describe("body of a decision", () => {
  test("reads an approver's body unchanged, with or without its optional fields", () => {
    // Given a body as approvers send it, when it is read, then it is the same; so it is without what is optional.
    assert.equal(canonicalText(readDecisionBody(body)), canonicalText(body));
    const { reason: _reason, decisionHash: _hash, ...required } = body;
    assert.deepEqual(readDecisionBody({ ...required, artifactHash: v1.artifactHash }), {
      ...required,
      artifactHash: v1.artifactHash,
    });
  });

  const wrong: [string, Record<string, unknown>][] = [
    ["a member that is not known", { scope: "once" }],
    ["a word that is signed, not sent", { decision: "allow" }],
    ["a hash in capital letters", { artifactHash: body.artifactHash.toUpperCase() }],
    ["a hash with another prefix", { artifactHash: `sha512:${v1.artifactHash}` }],
    ["a signature that is a word", { signature: "BASE64_SIGNATURE_PLACEHOLDER" }],
    ["a nonce that is empty", { nonce: "" }],
    ["a nonce that is endless", { nonce: "n".repeat(129) }],
    ["a key id that is none", { signerKeyId: 7 }],
    ["a hash of the decision without its prefix", { decisionHash: v1.artifactHash }],
    ["a reason that is no text", { reason: null }],
  ];
  for (const [what, change] of wrong) {
    test(`given ${what}, when the body is read, then it is refused`, () => {
      assert.throws(() => readDecisionBody({ ...body, ...change }), malformed);
    });
  }

  test("rebuilding decisions rejects a body about another artifact", () => {
    // Given a body about another artifact, when decisions are put together of it, then it is refused.
    assert.throws(() => rebuildDecisions(sessionV1, body), { code: "HARP_ERR_HASH_MISMATCH" });
  });
});

/** The enforcer's checks, one by one: nothing counts that was not signed for exactly this, now, and once. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  activeKeyOf,
  awaiting,
  publishedApprover,
  requestOf,
  sessionV1,
  v1,
  v1NowMs,
  variantOfV1,
} from "../../../test/support/approval-samples.ts";
import type { Artifact } from "./artifact.ts";
import { encodeBase64url } from "./base64url.ts";
import { sign } from "./ciphers.ts";
import {
  type Decision,
  type DecisionSignable,
  rebuildDecisions,
  signableBytes,
  signDecision,
} from "./decision.ts";
import {
  assertInTime,
  assertScope,
  checkDecision,
  type DecisionContext,
  type EnforcerState,
  enforcerMoves,
  mayMoveTo,
  replayKeptUntil,
} from "./enforcement.ts";
import { HarpError } from "./harp-error.ts";
import { generateApproverKeys } from "./keys.ts";
import { openRequest } from "./open.ts";
import { sealArtifact } from "./seal.ts";
import type { DecisionBody } from "./wire.ts";

const keys = await publishedApprover();
const key = await activeKeyOf(keys);
const otherKeys = await generateApproverKeys(new Date("2026-02-21T11:00:00Z"));
const otherKey = await activeKeyOf(otherKeys, { approverId: "app-02" });
const allow = await signDecision({ artifact: v1, decision: "allow", keys });
const deny = await signDecision({ artifact: v1, decision: "deny", keys });
const expiresMs = Date.parse(v1.expiresAt);

/** What an enforcer says to a body for V1, where nothing else is the matter. */
async function judged(
  body: unknown,
  changes: Partial<DecisionContext> = {},
  artifact = v1,
): Promise<Decision> {
  return await checkDecision(
    { requestId: artifact.requestId, body },
    awaiting(artifact, [key, otherKey], changes),
  );
}

/** Signed by the approver's key, whatever it says. */
async function signedBody(artifact: Artifact, changes: Partial<DecisionSignable>): Promise<DecisionBody> {
  const { decisionHash: _hash, ...body } = await signDecision({ artifact, decision: "allow", keys });
  const base = rebuildDecisions(artifact, body).at(-1);
  assert.ok(base);
  const { signature: _signature, ...signable } = base;
  const bytes = signableBytes({ ...signable, ...changes });
  return { ...body, signature: encodeBase64url(await sign(keys.ed25519.privateKey, bytes)) };
}

describe("signature", () => {
  test("HARP-22 a decision rebuilt from a gateway's body verifies and equals what was signed", async () => {
    // Given a body from a gateway, when it is put together again, then it verifies, and is what was signed.
    const decision = await judged(allow);
    assert.deepEqual(decision, {
      requestId: v1.requestId,
      artifactHashAlg: "SHA-256",
      artifactHash: v1.artifactHash,
      repoRef: v1.repoRef,
      decision: "allow",
      scope: "once",
      expiresAt: v1.expiresAt,
      nonce: allow.nonce,
      sigAlg: "Ed25519",
      signerKeyId: keys.signerKeyId,
      signature: allow.signature,
    });
    assert.equal((await judged(deny)).decision, "deny");
  });

  test("HARP-22 given a decision, when it is turned around on its way, then it is refused", async () => {
    const invalid = { code: "HARP_ERR_SIGNATURE_INVALID" };
    await assert.rejects(judged({ ...allow, decision: "reject" }), invalid);
    await assert.rejects(judged({ ...deny, decision: "approve" }), invalid);
  });

  test("HARP-13 rejects a valid signature that claims another provisioned key", async () => {
    // Given a valid signature, when it claims another provisioned key, then it is refused.
    const claimed = { ...allow, signerKeyId: otherKey.signerKeyId };
    await assert.rejects(judged(claimed), { code: "HARP_ERR_SIGNATURE_INVALID" });
    const swapped = { ...key, ed25519: otherKey.ed25519 };
    await assert.rejects(judged(allow, { keyOf: () => swapped }), { code: "HARP_ERR_SIGNATURE_INVALID" });
  });

  test("HARP-17 rejects a badly signed decision even if its request was sealed and opened well", async () => {
    // Given a request that was sealed and opened well, when its decision is not signed well, then it is refused.
    const request = requestOf(v1, await sealArtifact(v1, [keys.x25519.publicKey]));
    const artifact = await openRequest(request, keys, v1NowMs);
    const body = await signDecision({ artifact, decision: "allow", keys });
    assert.equal((await judged(body)).decision, "allow");
    const forged = await signDecision({ artifact, decision: "allow", keys: otherKeys });
    await assert.rejects(judged({ ...body, signature: forged.signature }), {
      code: "HARP_ERR_SIGNATURE_INVALID",
    });
  });

  test("HARP-122 given a signature with any byte corrupted, when it is judged, then it is refused", async () => {
    const bytes = new Uint8Array(Buffer.from(allow.signature, "base64url"));
    for (let i = 0; i < bytes.length; i++) {
      const signature = encodeBase64url(bytes.with(i, (bytes[i] ?? 0) ^ 0xff));
      await assert.rejects(judged({ ...allow, signature }), { code: "HARP_ERR_SIGNATURE_INVALID" });
    }
  });

  test("HARP-23 changing, adding or removing the reason does not affect the judgement", async () => {
    // Given a reason that was changed, added or taken away, when it is judged, then nothing changes.
    const expected = await judged(allow);
    assert.deepEqual(await judged({ ...allow, reason: "Looks good" }), expected);
    assert.deepEqual(await judged({ ...allow, reason: "The gateway wrote this" }), expected);
    assert.equal("reason" in expected, false);
  });

  test("HARP-24 rejects a wrong decisionHash and accepts a missing one", async () => {
    // Given a decisionHash that is wrong, when it is judged, then it is refused; without one it is not.
    assert.notEqual(allow.decisionHash, deny.decisionHash);
    await assert.rejects(judged({ ...allow, decisionHash: deny.decisionHash }), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    const { decisionHash: _hash, ...without } = allow;
    assert.equal((await judged(without)).decision, "allow");
  });

  test("HARP-25 given an offer, when all or less of it is signed, then that is what was decided", async () => {
    const signing = { artifact: sessionV1, decision: "allow", keys } as const;
    const wide = await judged(await signDecision({ ...signing, useOfferedTerms: true }), {}, sessionV1);
    assert.deepEqual(
      [wide.scope, wide.expiresAt, wide.policyHints],
      ["session", "2026-02-21T12:08:00Z", { sessionId: v1.sessionId }],
    );
    const narrow = await judged(await signDecision(signing), {}, sessionV1);
    assert.deepEqual([narrow.scope, narrow.expiresAt, narrow.policyHints], ["once", v1.expiresAt, undefined]);
  });

  const variants: [string, Partial<DecisionSignable>][] = [
    ["another scope", { scope: "timebox" }],
    ["the end of the offer, for one use", { expiresAt: "2026-02-21T12:08:00Z" }],
    [
      "the session, until the end of the artifact",
      { scope: "session", policyHints: { sessionId: "01J2V8V3M2YF0KX9Q0Z7E6H9R1" } },
    ],
    ["the session, without naming it", { scope: "session", expiresAt: "2026-02-21T12:08:00Z" }],
    ["hints with one use", { policyHints: { sessionId: "01J2V8V3M2YF0KX9Q0Z7E6H9R1" } }],
    ["empty hints", { policyHints: {} }],
    ["the same end in another spelling", { expiresAt: "2026-02-21T13:10:00+01:00" }],
  ];
  for (const [what, changes] of variants) {
    test(`HARP-25 given an offer, when ${what} is signed instead, then it is refused`, async () => {
      assert.equal((await judged(await signedBody(sessionV1, {}), {}, sessionV1)).scope, "once");
      const body = await signedBody(sessionV1, changes);
      await assert.rejects(judged(body, {}, sessionV1), { code: "HARP_ERR_SIGNATURE_INVALID" });
    });
  }
});

describe("binding", () => {
  test("HARP-18 rejects a decision when its action has changed since", async () => {
    // Given an action that has changed since, when its decision is judged, then it is refused.
    const changed = await variantOfV1({ payload: { title: "Something else" } });
    await assert.rejects(judged(allow, { hashNow: changed.artifactHash }), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    await assert.rejects(judged(allow, { hashNow: "" }), { code: "HARP_ERR_HASH_MISMATCH" });
  });

  test("rejects a decision when the kept artifact was tampered with", async () => {
    // Given a kept artifact that was tampered with, when its decision is judged, then it is refused.
    const artifact = { ...v1, payload: { title: "Something else" } };
    await assert.rejects(judged(allow, { artifact }), { code: "HARP_ERR_HASH_MISMATCH" });
  });

  test("HARP-19 rejects a decision for another request or repository", async () => {
    // Given a decision for another request or repository, when it is judged, then it is refused.
    const against = awaiting(v1, [key]);
    await assert.rejects(checkDecision({ requestId: "another", body: allow }, against), {
      code: "HARP_ERR_HASH_MISMATCH",
    });
    const requestId = "01J2V8V3K6B2Z9X6G1V7Y2QK8J";
    for (const artifact of [
      await variantOfV1({ requestId }),
      await variantOfV1({ repoRef: "repo:acme/gadgets" }),
    ]) {
      const body = await signDecision({ artifact, decision: "allow", keys });
      await assert.rejects(judged(body), { code: "HARP_ERR_HASH_MISMATCH" });
      // The hash of the right one does not help: what was signed names the other.
      const { decisionHash: _hash, ...relabeled } = { ...body, artifactHash: allow.artifactHash };
      await assert.rejects(judged(relabeled), { code: "HARP_ERR_SIGNATURE_INVALID" });
    }
    for (const changes of [{ requestId }, { repoRef: "repo:acme/gadgets" }]) {
      await assert.rejects(judged(await signedBody(v1, changes)), { code: "HARP_ERR_SIGNATURE_INVALID" });
    }
  });

  test("HARP-122 given a hash with any digit corrupted, when it is judged, then it is refused", async () => {
    for (let i = 0; i < 64; i++) {
      const at = "sha256:".length + i;
      const digit = allow.artifactHash[at] === "0" ? "1" : "0";
      const artifactHash = allow.artifactHash.slice(0, at) + digit + allow.artifactHash.slice(at + 1);
      await assert.rejects(judged({ ...allow, artifactHash }), { code: "HARP_ERR_HASH_MISMATCH" });
    }
  });

  test("given what is not a body, when it is judged, then it is refused as malformed", async () => {
    for (const body of [null, "approve", [], {}, { ...allow, decision: "allow" }, { ...allow, extra: 1 }]) {
      await assert.rejects(judged(body), { code: "HARP_ERR_TRANSPORT" });
    }
  });
});

describe("time", () => {
  test("HARP-31 accepts a decision up to a minute after the expiry and rejects it later", async () => {
    // Given the end, when a decision comes within a minute of it, then it counts, and later not.
    await judged(allow, { nowMs: expiresMs + 59_000 });
    await assert.rejects(judged(allow, { nowMs: expiresMs + 61_000 }), { code: "HARP_ERR_EXPIRED" });
    await judged(allow, { nowMs: expiresMs + 61_000, skewMs: 120_000 });
    await assert.rejects(judged(allow, { nowMs: expiresMs + 1, skewMs: 0 }), { code: "HARP_ERR_EXPIRED" });
  });

  test("HARP-29 always rejects a decision that expired before its artifact", async () => {
    // Given a decision that ends before its artifact, when it comes after, then it is refused, however often.
    const body = await signDecision({ artifact: sessionV1, decision: "allow", keys, useOfferedTerms: true });
    const late = { nowMs: Date.parse("2026-02-21T12:09:01Z") };
    const expired = { code: "HARP_ERR_EXPIRED", details: { reason: "decision_expired" } };
    await assert.rejects(judged(body, late, sessionV1), expired);
    await assert.rejects(judged(body, late, sessionV1), expired);
    await assert.rejects(judged(body, { ...late, state: "APPROVED" }, sessionV1), expired);
  });

  test("HARP-30 rejects an unexpired decision on an expired artifact", async () => {
    // Given an artifact that has expired, when its decision has not, then it counts for nothing.
    const decision = { ...(await judged(allow)), expiresAt: "2026-02-22T12:00:00Z" };
    assertInTime(decision, v1, expiresMs, 60_000);
    assert.throws(() => assertInTime(decision, v1, expiresMs + 60_001, 60_000), {
      code: "HARP_ERR_EXPIRED",
      details: { reason: "artifact_expired" },
    });
    // No artifact can offer such a decision in the first place.
    const decisionTerms = { scope: "timebox", expiresAt: "2026-02-22T12:00:00Z" };
    const artifact = await variantOfV1({ extensions: { gwProfile: { decisionTerms } } });
    await assert.rejects(judged({ ...allow, artifactHash: artifact.artifactHash }, {}, artifact), {
      code: "HARP_ERR_SCOPE",
    });
  });

  test("HARP-123 rejects a decision on an artifact dated in the future", async () => {
    // Given an artifact that is dated in the future, when its decision is judged, then it is refused.
    const createdMs = Date.parse(v1.createdAt);
    await judged(allow, { nowMs: createdMs - 60_000 });
    await assert.rejects(judged(allow, { nowMs: createdMs - 60_001 }), {
      code: "HARP_ERR_EXPIRED",
      details: { reason: "future_dated" },
    });
  });

  test("given a clock that cannot be read, when a decision is judged, then it is refused", async () => {
    await assert.rejects(judged(allow, { nowMs: Number.NaN }), { name: "HarpError" });
  });
});

describe("replay", () => {
  /** An enforcer as far as it remembers. */
  function remembering(artifact: Artifact) {
    const used = new Set<string>();
    const states = new Map<string, EnforcerState>();
    return async (body: DecisionBody, about = artifact): Promise<Decision> => {
      const decision = await judged(
        body,
        {
          state: states.get(about.requestId) ?? "AWAITING_DECISION",
          isUsed: (nonce, signerKeyId) => used.has(JSON.stringify([nonce, signerKeyId])),
        },
        about,
      );
      used.add(JSON.stringify([decision.nonce, decision.signerKeyId]));
      states.set(about.requestId, decision.decision === "allow" ? "APPROVED" : "DENIED");
      return decision;
    };
  }

  test("HARP-26 given a decision that was accepted, when it comes again, then it is a replay", async () => {
    for (const body of [allow, deny]) {
      const receive = remembering(v1);
      await receive(body);
      await assert.rejects(receive(body), { code: "HARP_ERR_REPLAY" });
    }
  });

  test("HARP-27 reusing a key's nonce for another request is a replay", async () => {
    // Given a nonce that its key has used, when it signs another request with it, then it is a replay.
    const receive = remembering(v1);
    await receive(allow);
    const other = await variantOfV1({ requestId: "01J2V8V3K6B2Z9X6G1V7Y2QK8J" });
    const reused = await signDecision({ artifact: other, decision: "allow", keys, nonce: allow.nonce });
    await assert.rejects(receive(reused, other), { code: "HARP_ERR_REPLAY" });
    // Another key may come to the same nonce; and the first key may use another.
    const byOther = await signDecision({
      artifact: other,
      decision: "allow",
      keys: otherKeys,
      nonce: allow.nonce,
    });
    assert.equal((await receive(byOther, other)).signerKeyId, otherKeys.signerKeyId);
  });

  test("HARP-27 a second decision for a decided artifact is a replay", async () => {
    // Given an artifact that was decided, when a second decision comes for it, then it is a replay.
    const receive = remembering(v1);
    await receive(allow);
    await assert.rejects(receive(await signDecision({ artifact: v1, decision: "allow", keys })), {
      code: "HARP_ERR_REPLAY",
    });
    await assert.rejects(receive(await signDecision({ artifact: v1, decision: "deny", keys: otherKeys })), {
      code: "HARP_ERR_REPLAY",
    });
  });

  test("HARP-32 given an approval for a time, when it was used, then it is used up", async () => {
    const decisionTerms = { scope: "timebox", expiresAt: "2026-02-21T12:08:00Z" };
    const artifact = await variantOfV1({ extensions: { gwProfile: { decisionTerms } } });
    const receive = remembering(artifact);
    const body = await signDecision({ artifact, decision: "allow", keys, useOfferedTerms: true });
    assert.equal((await receive(body)).scope, "timebox");
    await assert.rejects(receive(body), { code: "HARP_ERR_REPLAY" });
    assert.equal(mayMoveTo("EXECUTED", "EXECUTED"), false);
  });

  test("given any state but the one of waiting, when a decision comes, then it is a replay", async () => {
    const states = Object.keys(enforcerMoves).filter((state) => state !== "AWAITING_DECISION");
    assert.equal(states.length, 5);
    for (const state of ["CREATED", "APPROVED", "DENIED", "EXPIRED", "EXECUTED"] as const) {
      await assert.rejects(judged(allow, { state }), { code: "HARP_ERR_REPLAY", details: { state } });
    }
  });

  test("remembers a decision until its expiry plus leeway, for at least ten minutes", () => {
    // Given a decision, when it is remembered, then until it ends and the leeway is over, or ten minutes.
    const minute = 60_000;
    assert.equal(replayKeptUntil(100 * minute, 0, minute), 101 * minute);
    assert.equal(replayKeptUntil(5 * minute, 0, minute), 10 * minute);
    assert.equal(replayKeptUntil(5 * minute, 20 * minute, minute), 30 * minute);
    assert.equal(replayKeptUntil(9 * minute, 0), 10 * minute);
    assert.equal(replayKeptUntil(9 * minute + 1, 0), 10 * minute + 1);
  });
});

describe("scope", () => {
  test("HARP-33 an approval for a session counts only while that session is live", async () => {
    // Given an approval for a session, when that one is live, then it counts, and in no other.
    const body = await signDecision({ artifact: sessionV1, decision: "allow", keys, useOfferedTerms: true });
    assert.equal((await judged(body, {}, sessionV1)).scope, "session");
    for (const liveSessionId of [null, "another", ""]) {
      await assert.rejects(judged(body, { liveSessionId }, sessionV1), { code: "HARP_ERR_SCOPE" });
    }
  });

  test("HARP-33 rejects an approval for a session that names no session", async () => {
    // Given an approval for a session that it does not name, when it is judged, then it is refused.
    const decision: Decision = { ...(await judged(allow)), scope: "session" };
    const live = v1.sessionId ?? null;
    const scopeError = { code: "HARP_ERR_SCOPE" };
    assertScope({ ...decision, policyHints: { sessionId: live } }, v1, live);
    assert.throws(() => assertScope(decision, v1, live), scopeError);
    assert.throws(() => assertScope({ ...decision, policyHints: {} }, v1, live), scopeError);
    assert.throws(() => assertScope({ ...decision, policyHints: { sessionId: null } }, v1, null), scopeError);
    assert.throws(() => assertScope({ ...decision, policyHints: { sessionId: "x" } }, v1, "x"), scopeError);
    const decisionTerms = { scope: "session", expiresAt: v1.expiresAt };
    const artifact = await variantOfV1({ extensions: { gwProfile: { decisionTerms } } });
    await assert.rejects(
      judged(await signDecision({ artifact, decision: "allow", keys }), {}, artifact),
      scopeError,
    );
  });
});

describe("states", () => {
  test("HARP-34 allows exactly the state transitions of the protocol", () => {
    // Given every pair of states, when one is to become the other, then only as the protocol has it.
    const states = ["CREATED", "AWAITING_DECISION", "APPROVED", "DENIED", "EXPIRED", "EXECUTED"] as const;
    assert.deepEqual(Object.keys(enforcerMoves), [...states]);
    const moves = states.flatMap((from) =>
      states.filter((to) => mayMoveTo(from, to)).map((to) => `${from} ${to}`),
    );
    assert.deepEqual(moves, [
      "CREATED AWAITING_DECISION",
      "AWAITING_DECISION APPROVED",
      "AWAITING_DECISION DENIED",
      "AWAITING_DECISION EXPIRED",
      "APPROVED EXPIRED",
      "APPROVED EXECUTED",
    ]);
  });
});

describe("failing closed", () => {
  test("HARP-36 denies when the key store, the replay cache or the policy fails", async () => {
    // Given a key store, a replay cache or a policy that fails, when a decision is judged, then it is denied.
    const fail = (): never => {
      throw new Error("disk is gone");
    };
    const failures: Partial<DecisionContext>[] = [
      { keyOf: fail },
      { isUsed: fail },
      { isUsed: () => Promise.reject(new Error("disk is gone")) },
      { mayApprove: fail },
      { refuses: fail },
    ];
    for (const failure of failures) {
      for (const body of [allow, deny]) {
        await assert.rejects(judged(body, failure), (error) => {
          assert.ok(error instanceof HarpError);
          assert.deepEqual([error.code, error.details], ["HARP_ERR_POLICY_DENY", { reason: "check_failed" }]);
          assert.equal(JSON.stringify(error).includes("disk"), false);
          return true;
        });
      }
    }
    const corrupt = { ...key, ed25519: "not a key" };
    await assert.rejects(judged(allow, { keyOf: () => corrupt }), { name: "HarpError" });
  });

  test("HARP-36 denies when the replay cache gives no answer", async () => {
    // Given a replay cache that gives no answer, when a decision is judged, then it is denied.
    for (const answer of ["null", "0", '"no"']) {
      await assert.rejects(judged(allow, { isUsed: () => JSON.parse(answer) }), { code: "HARP_ERR_REPLAY" });
    }
  });

  test("HARP-124 rejects a key record of another algorithm as unsupported", async () => {
    // Given a key record of another algorithm, when it signs, then it is refused as unsupported.
    const other = { ...key, ...JSON.parse('{"alg":"ES256"}') };
    await assert.rejects(judged(allow, { keyOf: () => other }), { code: "HARP_ERR_UNSUPPORTED" });
  });

  test("given a policy that refuses, when a decision is valid, then the policy has the last word", async () => {
    const refuses = (decision: Decision) => (decision.decision === "allow" ? "Not on Fridays." : null);
    await assert.rejects(judged(allow, { refuses }), {
      code: "HARP_ERR_POLICY_DENY",
      message: "Not on Fridays.",
    });
    assert.equal((await judged(deny, { refuses })).decision, "deny");
  });

  test("several failures are reported in the protocol's order", async () => {
    // Given several things that are wrong, when they are put right one by one, then the failures come in the order of
    // the protocol.
    const wrong: Partial<DecisionContext> = {
      refuses: () => "no",
      liveSessionId: "another",
      isUsed: () => true,
      hashNow: "0".repeat(64),
      nowMs: expiresMs + 61_000,
      keyOf: () => ({ ...key, ed25519: otherKey.ed25519, roles: [] }),
    };
    const body = await signDecision({ artifact: sessionV1, decision: "allow", keys, useOfferedTerms: true });
    const seen: string[] = [];
    const attempt = async (requestId: string, sent: unknown, changes: Partial<DecisionContext>) => {
      const against = awaiting(sessionV1, [key], changes);
      await checkDecision({ requestId, body: sent }, against).catch((error: HarpError) =>
        seen.push(error.code),
      );
    };
    await attempt("another", { ...body, signature: "?" }, wrong);
    await attempt("another", body, wrong);
    await attempt(v1.requestId, body, { ...wrong, keyOf: () => undefined });
    await attempt(v1.requestId, body, wrong);
    const rightKey = { ...wrong, mayApprove: () => true };
    await attempt(v1.requestId, body, rightKey);
    const signed = { ...rightKey, keyOf: () => key };
    await attempt(v1.requestId, body, signed);
    const timely = { ...signed, nowMs: v1NowMs };
    await attempt(v1.requestId, body, timely);
    const sameAction = { ...timely, hashNow: sessionV1.artifactHash };
    await attempt(v1.requestId, body, sameAction);
    const unused = { ...sameAction, isUsed: () => false };
    await attempt(v1.requestId, body, unused);
    await attempt(v1.requestId, body, { ...unused, liveSessionId: sessionV1.sessionId ?? null });
    assert.deepEqual(seen, [
      "HARP_ERR_TRANSPORT",
      "HARP_ERR_HASH_MISMATCH",
      "HARP_ERR_SIGNATURE_INVALID",
      "HARP_ERR_POLICY_DENY",
      "HARP_ERR_SIGNATURE_INVALID",
      "HARP_ERR_EXPIRED",
      "HARP_ERR_HASH_MISMATCH",
      "HARP_ERR_REPLAY",
      "HARP_ERR_SCOPE",
      "HARP_ERR_POLICY_DENY",
    ]);
  });
});

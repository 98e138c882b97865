/** Whose decisions count: keys that a person confirmed, within their role and their time, and not revoked. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { activeKeyOf, awaiting, publishedApprover, v1 } from "../../../test/support/approval-samples.ts";
import { maySign, pendingKeyOf } from "./approver-key.ts";
import { type Decision, signDecision } from "./decision.ts";
import { checkDecision, type DecisionContext } from "./enforcement.ts";
import { bundleOf, generateApproverKeys, readApproverBundle } from "./keys.ts";

const keys = await publishedApprover();
const key = await activeKeyOf(keys);
const otherKeys = await generateApproverKeys(new Date("2026-02-21T11:00:00Z"));
const otherKey = await activeKeyOf(otherKeys, { approverId: "app-02" });
const allow = await signDecision({ artifact: v1, decision: "allow", keys });
const deny = await signDecision({ artifact: v1, decision: "deny", keys });

async function judged(body: unknown, changes: Partial<DecisionContext> = {}): Promise<Decision> {
  return await checkDecision({ requestId: v1.requestId, body }, awaiting(v1, [key, otherKey], changes));
}

describe("key of an approver", () => {
  const invalid = (reason: string) => ({ code: "HARP_ERR_SIGNATURE_INVALID", details: { reason } });

  test("HARP-110 both keys count during a rotation's overlap, and only the new one afterwards", async () => {
    // Given a rotation, when both keys sign during the overlap, then both count; after it only the new one.
    const acceptedUntil = "2026-02-21T12:05:00Z";
    const old = { ...key, state: "deprecated", deprecatedAt: "2026-02-21T11:00:00Z", acceptedUntil } as const;
    const known = { keyOf: (id: string) => [old, otherKey].find((each) => each.signerKeyId === id) };
    const byNew = await signDecision({ artifact: v1, decision: "allow", keys: otherKeys });
    const endMs = Date.parse(acceptedUntil);
    assert.equal((await judged(allow, { ...known, nowMs: endMs })).signerKeyId, key.signerKeyId);
    assert.equal((await judged(byNew, { ...known, nowMs: endMs })).signerKeyId, otherKey.signerKeyId);
    await assert.rejects(judged(allow, { ...known, nowMs: endMs + 1 }), invalid("deprecated_key"));
    assert.equal((await judged(byNew, { ...known, nowMs: endMs + 1 })).signerKeyId, otherKey.signerKeyId);
  });

  test("HARP-111 revoking a key invalidates decisions that it signed before", async () => {
    // Given a decision that was signed before, when its key is revoked, then it does not count any more.
    await judged(allow);
    const revoked = { ...key, state: "revoked", revokedAt: "2026-02-21T12:00:59Z" } as const;
    await assert.rejects(judged(allow, { keyOf: () => revoked }), invalid("revoked_key"));
    await assert.rejects(judged(deny, { keyOf: () => revoked }), invalid("revoked_key"));
    // Said to be revoked in the future, or only half written: it is revoked.
    const half = { ...key, revokedAt: "2026-02-22T12:00:00Z" };
    await assert.rejects(judged(allow, { keyOf: () => half }), invalid("revoked_key"));
  });

  test("HARP-112 given two approvers, when each decides, then each as far as their role goes", async () => {
    const auditor = { ...otherKey, roles: ["auditor"], pki: { certificate: "MII…", chain: [] } };
    const known = { keyOf: (id: string) => [key, auditor].find((each) => each.signerKeyId === id) };
    const byOther = await signDecision({ artifact: v1, decision: "allow", keys: otherKeys });
    assert.equal((await judged(allow, known)).signerKeyId, key.signerKeyId);
    await assert.rejects(judged(byOther, known), {
      code: "HARP_ERR_POLICY_DENY",
      details: { reason: "role" },
    });
    const mayApprove = (each: { roles: string[] }) => each.roles.includes("auditor");
    assert.equal((await judged(byOther, { ...known, mayApprove })).signerKeyId, auditor.signerKeyId);
    await assert.rejects(judged(allow, { ...known, mayApprove }), { code: "HARP_ERR_POLICY_DENY" });
    assert.equal(auditor.alg, "Ed25519");
  });

  test("HARP-112 a key restored from a backup counts only after a person confirms it", async () => {
    // Given a key that comes back from a backup, when it signs, then it counts only once a person has confirmed it.
    const owner = { approverId: "app-01", roles: ["approver"], notBefore: v1.createdAt };
    const restored = await pendingKeyOf(await readApproverBundle(bundleOf(await publishedApprover())), owner);
    await assert.rejects(judged(allow, { keyOf: () => restored }), invalid("pending_key"));
    assert.equal(
      (await judged(allow, { keyOf: () => ({ ...restored, state: "active" }) })).decision,
      "allow",
    );
  });

  test("rejects signatures by a key that is not provisioned or not yet valid", async () => {
    // Given a key that nobody provisioned, or one that is not valid yet, when it signs, then it does not count.
    await assert.rejects(judged(allow, { keyOf: () => undefined }), invalid("unknown_key"));
    await assert.rejects(judged(allow, { keyOf: () => otherKey }), invalid("unknown_key"));
    const early = { ...key, notBefore: "2026-02-21T12:01:01Z" };
    await assert.rejects(judged(allow, { keyOf: () => early }), invalid("not_yet_valid_key"));
  });

  test("given a key, when it is asked whether it may sign, then by its state and the clock", () => {
    const nowMs = Date.parse("2026-02-21T12:00:00Z");
    assert.equal(maySign(key, nowMs), true);
    assert.equal(maySign({ ...key, state: "deprecated" }, nowMs), true);
    assert.equal(maySign({ ...key, state: "pending" }, nowMs), false);
    assert.equal(maySign({ ...key, state: "revoked" }, nowMs), false);
    assert.equal(maySign({ ...key, notBefore: "soon" }, nowMs), false);
    assert.equal(maySign(key, Number.NaN), false);
  });
});

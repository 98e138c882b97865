/** The enforcer: nothing is done without a valid, fresh, matching, unused, signed approval, whatever a gateway says. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { verifyAudit } from "../../src/harp/core/audit.ts";
import { decisionHashOf, signDecision } from "../../src/harp/core/decision.ts";
import { GatewayRefusal } from "../../src/harp/core/gateway-link.ts";
import { generateApproverKeys } from "../../src/harp/core/keys.ts";
import { verifyApprovalProof } from "../../src/harp/core/proof.ts";
import { revokeApprover } from "../../src/kernel/approvals/change-approvers.ts";
import { listApprovers } from "../../src/kernel/approvals/read-approvers.ts";
import { respondPermissionRequest } from "../../src/kernel/approvals/respond-permission-request.ts";
import { exchangesOf } from "../../src/kernel/kinds/exchange.ts";
import { cancelTask } from "../../src/kernel/tasks/cancel-task.ts";
import { defineAgent } from "../../src/runtime/agents/agent.ts";
import { until } from "../support/client.ts";
import { caller, EnforcementStage, runsOf } from "../support/enforcement.ts";

const minuteMs = 60_000;

describe("one approver", () => {
  test("HARP-17, HARP-22 a signed approval runs the effect once and the receipt proves the signer", async () => {
    // Given a signed approval of what was sealed for the approver, when it arrives, then the effect runs once and the
    // receipt proves who signed.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const artifact = await stage.opened(ann, request_id);
    assert.equal(artifact.payload.action, "deploy");
    assert.deepEqual(JSON.parse(String(artifact.payload.details)), { build: "v1", ratio: 0.5 });
    assert.equal(runsOf(task), 0);

    stage.gateway.deliver(request_id, await stage.signed(ann, request_id));
    const ended = await stage.ended(task);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    assert.equal(runsOf(task), 1);
    const { approvals } = await stage.receipt(ended);
    const proof = Object(approvals?.[0]?.quorum_proof);
    assert.deepEqual([proof.required, proof.satisfied], [1, 1]);
    assert.deepEqual(await verifyApprovalProof(proof.harp), { valid: true, why: null, approvers: ["ann"] });
    const tampered = structuredClone(proof.harp);
    tampered.decisions[0].decision.artifactHash = "0".repeat(64);
    assert.equal((await verifyApprovalProof(tampered)).valid, false);
  });

  test("HARP-22 a decision that the gateway flipped does not count, either way", async () => {
    // Given an approval, when the gateway turns it into a denial or a denial into an approval, then neither counts.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const persona = await stage.persona();
    for (const [signed, told] of [
      ["deny", "approve"],
      ["allow", "reject"],
    ] as const) {
      const task = await stage.task(persona);
      const { request_id } = await stage.asked(task, ann);
      const body = await stage.signed(ann, request_id, signed);
      const { decisionHash: _, ...rest } = body;
      const refused = await stage.judged(stage.gateway.deliver(request_id, { ...rest, decision: told }));
      assert.equal(refused.at(-1)?.code, "HARP_ERR_SIGNATURE_INVALID");
      assert.equal(runsOf(task), 0);
      assert.equal((await stage.request(task)).status, "pending");
    }
  });

  test("HARP-23 an approval with an altered remark counts, the remark stays out of the proof", async () => {
    // Given an approval whose remark the gateway changed, when it arrives, then it counts, and the remark is kept apart
    // from what is signed.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const body = await stage.signed(ann, request_id);
    stage.gateway.deliver(request_id, { ...body, reason: "somebody else's words" });
    assert.equal((await stage.ended(task)).status, "COMPLETED");
    const { response } = await stage.request(task);
    assert.equal(response?.reason, "somebody else's words");
    assert.ok(!JSON.stringify(response?.proof).includes("somebody else's words"));
  });

  test("HARP-24 given a hash of the decision that is wrong, when it arrives, then it is refused", async () => {
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const body = await stage.signed(ann, request_id);
    const refused = await stage.judged(
      stage.gateway.deliver(request_id, { ...body, decisionHash: `sha256:${"0".repeat(64)}` }),
    );
    assert.equal(refused.at(-1)?.code, "HARP_ERR_HASH_MISMATCH");
    assert.equal(runsOf(task), 0);
  });

  test("HARP-19 an approval delivered for another request is rejected", async () => {
    // Given an approval of one request, when it is delivered for another one, then it is refused.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const persona = await stage.persona();
    const [one, other] = [await stage.task(persona, "a"), await stage.task(persona, "b")];
    const [of, to] = [await stage.asked(one, ann), await stage.asked(other, ann)];
    const refused = await stage.judged(
      stage.gateway.deliver(to.request_id, await stage.signed(ann, of.request_id)),
    );
    assert.equal(refused.at(-1)?.code, "HARP_ERR_HASH_MISMATCH");
    const unknown = await stage.judged(
      stage.gateway.deliver("perm_unknown.1", await stage.signed(ann, of.request_id)),
    );
    assert.equal(unknown.length, 2);
    assert.deepEqual([runsOf(one), runsOf(other)], [0, 0]);
  });

  test("HARP-26, HARP-81 a redelivered decision is acknowledged each time and runs nothing more", async () => {
    // Given a decision that was accepted, when it is delivered again and again, then it is acknowledged each time and
    // nothing runs a second time.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const body = await stage.signed(ann, request_id);
    stage.gateway.deliver(request_id, body);
    await stage.ended(task);
    for (let n = 0; n < 3; n++) {
      const refused = await stage.judged(stage.gateway.deliver(request_id, body));
      assert.equal(refused.at(-1)?.code, "HARP_ERR_REPLAY");
    }
    assert.equal(runsOf(task), 1);
  });

  test("HARP-27 a second decision with a nonce already used by the key is rejected", async () => {
    // Given a nonce that a key has signed with, when it signs another decision with it, then that is refused.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const persona = await stage.persona();
    const [first, second] = [await stage.task(persona, "a"), await stage.task(persona, "b")];
    const { request_id } = await stage.asked(first, ann);
    const body = await stage.signed(ann, request_id);
    stage.gateway.deliver(request_id, body);
    await stage.ended(first);
    const other = await stage.asked(second, ann);
    const artifact = await stage.opened(ann, other.request_id);
    const reused = await signDecision({ artifact, decision: "allow", keys: ann.keys, nonce: body.nonce });
    const refused = await stage.judged(stage.gateway.deliver(other.request_id, reused));
    assert.equal(refused.at(-1)?.code, "HARP_ERR_REPLAY");
    assert.equal(runsOf(second), 0);
  });

  test("HARP-29, HARP-30, HARP-31 an approval counts up to a minute after expiry, not later", async () => {
    // Given an approval, when it arrives a minute after the end or later, then it is refused, and within the minute that
    // clocks may differ it counts.
    await using stage = await EnforcementStage.open({ exchangeMsMax: 10 * minuteMs });
    const ann = await stage.person("ann");
    const persona = await stage.persona();
    const late = await stage.task(persona, "late");
    const exchange = await stage.asked(late, ann);
    const body = await stage.signed(ann, exchange.request_id);
    stage.clock.offsetMs = Date.parse(exchange.expires_at) - Date.now() + 61_000;
    const refused = await stage.judged(stage.gateway.deliver(exchange.request_id, body));
    assert.ok(["HARP_ERR_EXPIRED", "HARP_ERR_REPLAY"].includes(String(refused.at(-1)?.code)));
    assert.equal(runsOf(late), 0);
    // The request itself waits on: the approver is asked anew.
    const again = await stage.asked(late, ann, ({ request_id }) => request_id !== exchange.request_id);
    stage.gateway.deliver(again.request_id, await stage.signed(ann, again.request_id));
    assert.equal((await stage.ended(late)).status, "COMPLETED");
  });

  test("given a signed denial, when it arrives, then the step fails, says so, and nothing ran", async () => {
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    stage.gateway.deliver(request_id, {
      ...(await stage.signed(ann, request_id, "deny")),
      reason: "not on a Friday",
    });
    const ended = await stage.ended(task);
    assert.equal(ended.failure?.code, "approval_denied");
    assert.match(ended.failure?.message ?? "", /not on a Friday/);
    assert.equal(runsOf(task), 0);
  });

  test("HARP-20, HARP-113 the audit log chains all decisions and key changes, without content", async () => {
    // Given decisions that were accepted and refused, keys that came and went, when the audit log is read, then all are
    // in it, chained, without content.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const bob = await stage.person("bob");
    const task = await stage.task(
      await stage.persona({ channel: "harp", approvers: ["ann"] }),
      "secret-build",
    );
    const { request_id } = await stage.asked(task, ann);
    const body = await stage.signed(ann, request_id);
    await stage.judged(
      stage.gateway.deliver(request_id, { ...body, signature: `${body.signature.slice(0, -4)}AAAA` }),
    );
    const again = await stage.asked(task, ann, (exchange) => exchange.request_id !== request_id);
    stage.gateway.deliver(again.request_id, await stage.signed(ann, again.request_id));
    await stage.ended(task);
    await stage.kernel.dispatch(revokeApprover, caller, { signerKeyId: bob.keys.signerKeyId });
    const records = await stage.audit();
    const events = records.map(({ event }) => event);
    assert.deepEqual(events, [
      "key.provisioned",
      "key.provisioned",
      "decision.refused",
      "decision.accepted",
      "execution.allowed",
      "key.revoked",
    ]);
    assert.ok(!JSON.stringify(records).includes("secret-build"));
    assert.partialDeepStrictEqual(await verifyAudit(records), { valid: true, count: records.length });
    const edited = records.map((record) =>
      record.seq === records[2]?.seq ? { ...record, code: "nothing" } : record,
    );
    assert.equal((await verifyAudit(edited)).valid, false);
  });
});

describe("keys", () => {
  test("HARP-109 given a key that nobody confirmed, when it signs, then the decision is refused", async () => {
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const artifact = await stage.opened(ann, request_id);
    const keys = await generateApproverKeys(new Date());
    const forged = await signDecision({ artifact, decision: "allow", keys });
    const refused = await stage.judged(stage.gateway.deliver(request_id, forged));
    assert.deepEqual(
      [refused.at(-1)?.code, refused.at(-1)?.reason],
      ["HARP_ERR_SIGNATURE_INVALID", "unknown_key"],
    );
    // Under a name that is known, with a key that is not the one of that name.
    const again = await stage.asked(task, ann, (exchange) => exchange.request_id !== request_id);
    const named = await signDecision({
      artifact: await stage.opened(ann, again.request_id),
      decision: "allow",
      keys: { ...keys, signerKeyId: ann.keys.signerKeyId },
    });
    await stage.judged(stage.gateway.deliver(again.request_id, named));
    assert.equal(runsOf(task), 0);
  });

  test("HARP-111 a decision signed before its key was revoked is rejected", async () => {
    // Given a decision that was signed before, when the key is revoked, then it is refused.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    await stage.person("bob");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const body = await stage.signed(ann, request_id);
    await stage.kernel.dispatch(revokeApprover, caller, { signerKeyId: ann.keys.signerKeyId });
    const refused = await stage.judged(stage.gateway.deliver(request_id, body));
    assert.equal(refused.length, 1);
    assert.equal(runsOf(task), 0);
    assert.equal((await stage.request(task)).status, "pending");
    await until(async () => stage.gateway.withdrawn.includes(request_id), Boolean);
  });

  test("HARP-110 a replaced key and its successor both count in the overlap, then only the new", async () => {
    // Given a key that was replaced, when both sign within the overlap, then both count, and the old one does not
    // afterwards.
    await using stage = await EnforcementStage.open({ keyWaitMs: 0 });
    const old = await stage.person("ann");
    const persona = await stage.persona();
    const overlapMs = 60 * minuteMs;
    const young = await stage.person("ann", { of: old, overlapMs });
    for (const person of [old, young]) {
      const task = await stage.task(persona);
      const { request_id } = await stage.asked(task, person);
      stage.gateway.deliver(request_id, await stage.signed(person, request_id));
      assert.equal((await stage.ended(task)).status, "COMPLETED");
    }
    const task = await stage.task(persona);
    const { request_id } = await stage.asked(task, old);
    const body = await stage.signed(old, request_id);
    stage.clock.offsetMs = overlapMs + minuteMs;
    const refused = await stage.judged(stage.gateway.deliver(request_id, body));
    assert.equal(refused.at(-1)?.code, "HARP_ERR_SIGNATURE_INVALID");
    assert.equal(runsOf(task), 0);
  });

  test("HARP-112 only approvers named by the persona are asked, and only their keys count", async () => {
    // Given a persona that names its approvers, when somebody else's key signs, then it does not count, and nobody else
    // is asked.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const bob = await stage.person("bob");
    const task = await stage.task(await stage.persona({ channel: "harp", approvers: ["ann"] }));
    const { request_id } = await stage.asked(task, ann);
    assert.deepEqual(
      exchangesOf(await stage.request(task)).map(({ approver_id }) => approver_id),
      ["ann"],
    );
    const artifact = await stage.opened(ann, request_id);
    const body = await signDecision({ artifact, decision: "allow", keys: bob.keys });
    const refused = await stage.judged(stage.gateway.deliver(request_id, body));
    assert.equal(refused.at(-1)?.code, "HARP_ERR_POLICY_DENY");
    await assert.rejects(stage.opened(bob, request_id));
    assert.equal(runsOf(task), 0);
  });

  test("a credential in a key's label is redacted and the approver list stays valid", async () => {
    // Given a label that holds what looks like a credential, when the key is taken into the list, then the list is
    // without it and still good.
    await using stage = await EnforcementStage.open();
    const secret = `sk-ant-api03-${"x1Y2".repeat(12)}`;
    const ann = await stage.person("ann", undefined, `phone ${secret}`);
    const [key] = await listApprovers(stage.kernel, caller);
    assert.match(key?.label ?? "", /^phone \[redacted:/);
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    stage.gateway.deliver(request_id, await stage.signed(ann, request_id));
    assert.equal((await stage.ended(task)).status, "COMPLETED");
  });

  test("an approver paired while a task waits is asked too", async () => {
    // Given an approver who is paired while a task waits, when they are in the list, then they are asked too.
    await using stage = await EnforcementStage.open();
    const task = await stage.task(await stage.persona());
    assert.deepEqual(exchangesOf(await stage.request(task)), []);
    const ann = await stage.person("ann");
    const { request_id } = await stage.asked(task, ann);
    stage.gateway.deliver(request_id, await stage.signed(ann, request_id));
    assert.equal((await stage.ended(task)).status, "COMPLETED");
  });
});

describe("several approvers", () => {
  test("a quorum of two waits for the second approval and puts both signatures in the receipt", async () => {
    // Given a quorum of two, when one approves, then the task waits, and when the second does, then it goes on with both
    // signatures in the receipt.
    await using stage = await EnforcementStage.open();
    const people = [await stage.person("ann"), await stage.person("bob"), await stage.person("cem")];
    const [ann, bob, cem] = people;
    assert.ok(ann && bob && cem);
    const task = await stage.task(await stage.persona({ quorum: 2 }));
    const first = await stage.asked(task, ann);
    await stage.judged(stage.gateway.deliver(first.request_id, await stage.signed(ann, first.request_id)));
    assert.equal((await stage.request(task)).status, "pending");
    // One person is one, however often they sign.
    const artifact = await stage.opened(ann, first.request_id);
    const twice = await signDecision({ artifact, decision: "allow", keys: ann.keys });
    await stage.judged(stage.gateway.deliver(first.request_id, twice));
    assert.equal(runsOf(task), 0);

    const second = await stage.asked(task, cem);
    stage.gateway.deliver(second.request_id, await stage.signed(cem, second.request_id));
    const ended = await stage.ended(task);
    assert.equal(ended.status, "COMPLETED", JSON.stringify(ended.failure));
    const { approvals } = await stage.receipt(ended);
    const proof = Object(approvals?.[0]?.quorum_proof);
    const verdict = await verifyApprovalProof(proof.harp);
    assert.deepEqual([verdict.valid, verdict.approvers.toSorted()], [true, ["ann", "cem"]]);
    // Who was not needed any more is not left with it.
    const left = exchangesOf(await stage.request(task)).find(({ approver_id }) => approver_id === "bob");
    await until(async () => stage.gateway.withdrawn.includes(left?.request_id ?? ""), Boolean);
  });

  test("given a quorum of two, when one approves and one denies, then it is denied", async () => {
    await using stage = await EnforcementStage.open();
    const [ann, bob] = [await stage.person("ann"), await stage.person("bob")];
    const task = await stage.task(await stage.persona({ quorum: 2 }));
    for (const [person, verdict] of [
      [ann, "allow"],
      [bob, "deny"],
    ] as const) {
      const { request_id } = await stage.asked(task, person);
      await stage.judged(stage.gateway.deliver(request_id, await stage.signed(person, request_id, verdict)));
    }
    assert.equal((await stage.ended(task)).failure?.code, "approval_denied");
    assert.equal(runsOf(task), 0);
  });

  test("revoking a key removes its approval from the quorum", async () => {
    // Given a quorum of two and one approval, when that key is revoked, then it no longer counts towards it.
    await using stage = await EnforcementStage.open();
    const [ann, bob] = [await stage.person("ann"), await stage.person("bob")];
    await stage.person("cem");
    const task = await stage.task(await stage.persona({ quorum: 2 }));
    const first = await stage.asked(task, ann);
    await stage.judged(stage.gateway.deliver(first.request_id, await stage.signed(ann, first.request_id)));
    await stage.kernel.dispatch(revokeApprover, caller, { signerKeyId: ann.keys.signerKeyId });
    const second = await stage.asked(task, bob);
    await stage.judged(stage.gateway.deliver(second.request_id, await stage.signed(bob, second.request_id)));
    assert.equal((await stage.request(task)).status, "pending");
    assert.equal(runsOf(task), 0);
  });
});

describe("channels", () => {
  test("an API answer is rejected without effect if the persona requires signatures", async () => {
    // Given a persona that wants signatures, when somebody answers over the API, then that is refused and changes
    // nothing.
    await using stage = await EnforcementStage.open();
    const task = await stage.task(await stage.persona());
    const { id: requestId } = await stage.request(task);
    for (const approved of [true, false]) {
      await assert.rejects(
        stage.kernel.dispatch(respondPermissionRequest, caller, { requestId, approved, reason: null }),
        { code: "policy_violation" },
      );
    }
    assert.equal((await stage.request(task)).status, "pending");
    assert.equal(runsOf(task), 0);
  });

  test("an API answer that the persona allows tells approvers that the request is over", async () => {
    // Given a persona that takes any answer, when one comes over the API, then approvers are told that it is over.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona({}));
    const { request_id } = await stage.asked(task, ann);
    const { id: requestId, request } = await stage.request(task);
    const answer = { requestId, approved: true, reason: null };
    await assert.rejects(
      stage.kernel.dispatch(respondPermissionRequest, caller, { ...answer, artifactHash: "0".repeat(64) }),
      { code: "conflict" },
    );
    const artifactHash = String(request.artifact_hash);
    await stage.kernel.dispatch(respondPermissionRequest, caller, { ...answer, artifactHash });
    assert.equal((await stage.ended(task)).status, "COMPLETED");
    await until(async () => stage.gateway.withdrawn.includes(request_id), Boolean);
    const late = await stage.judged(stage.gateway.deliver(request_id, await stage.signed(ann, request_id)));
    assert.equal(late.at(-1)?.code, "HARP_ERR_REPLAY");
    assert.equal(runsOf(task), 1);
  });

  test("canceling a waiting task withdraws its requests, a late approval runs nothing", async () => {
    // Given a task that waits, when it is canceled, then its requests are taken back and a late approval runs nothing.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    const body = await stage.signed(ann, request_id);
    await stage.kernel.dispatch(cancelTask, caller, { taskId: task.id });
    await until(async () => stage.gateway.withdrawn.includes(request_id), Boolean);
    await stage.judged(stage.gateway.deliver(request_id, body));
    assert.equal(runsOf(task), 0);
  });

  test("HARP-93 a refresh by the approver asks again under a new, unused request id", async () => {
    // Given an approver who asks to see it again, when the refresh arrives, then it is asked under a new name that was
    // never used.
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const task = await stage.task(await stage.persona());
    const { request_id } = await stage.asked(task, ann);
    stage.gateway.askForRefresh(request_id);
    const again = await stage.asked(task, ann, (exchange) => exchange.request_id !== request_id);
    assert.notEqual(again.artifact_hash, stage.gateway.submitted.get(request_id)?.body.artifactHash.slice(7));
    const old = await stage.judged(stage.gateway.deliver(request_id, await stage.signed(ann, request_id)));
    assert.equal(old.length, 1);
    stage.gateway.deliver(again.request_id, await stage.signed(ann, again.request_id));
    assert.equal((await stage.ended(task)).status, "COMPLETED");
  });

  test("HARP-37 denies and audits a request that expires while the gateway is unreachable", async () => {
    // Given a gateway that cannot be reached until the request expires, when the time is over, then it is denied,
    // nothing ran, and the audit says why.
    const tried: string[] = [];
    const hasty = defineAgent({
      name: "hasty",
      version: "1.0.0",
      async run(ctx) {
        const { output } = await ctx.effect("deploy", () => `run ${tried.push(ctx.taskId)}`, {
          expiresInMs: 3000,
        });
        return output;
      },
    });
    await using stage = await EnforcementStage.open({ agents: [hasty] });
    await stage.person("ann");
    stage.gateway.problem = new GatewayRefusal("Unreachable", 503, "nobody answers", { isRetryable: true });
    const task = await stage.task(await stage.persona({ channel: "harp" }, "hasty"));
    const ended = await stage.ended(task);
    assert.equal(ended.failure?.code, "deadline_exceeded", JSON.stringify(ended.failure));
    assert.deepEqual(tried, []);
    const records = await stage.audit();
    const said = records.filter(
      ({ event, code }) => event === "transport.failed" && code === "HARP_ERR_TRANSPORT",
    );
    assert.equal(said.length, 1, "once, however often it was tried");
  });

  test("a permanent rejection by the gateway denies the step with the reason", async () => {
    // Given a gateway that never takes the request, when it says so for good, then the step is denied with the reason.
    await using stage = await EnforcementStage.open();
    await stage.person("ann");
    stage.gateway.problem = new GatewayRefusal("PayloadTooLarge", 413, "too large");
    const task = await stage.task(await stage.persona());
    const ended = await stage.ended(task);
    assert.match(ended.failure?.message ?? "", /PayloadTooLarge/);
    assert.equal(runsOf(task), 0);
  });
});

test("a decision's hash is over what is signed and nothing else", async () => {
  await using stage = await EnforcementStage.open();
  const ann = await stage.person("ann");
  const task = await stage.task(await stage.persona());
  const { request_id } = await stage.asked(task, ann);
  const body = await stage.signed(ann, request_id);
  stage.gateway.deliver(request_id, body);
  await stage.ended(task);
  const decision = exchangesOf(await stage.request(task)).find(
    (exchange) => exchange.decision !== null,
  )?.decision;
  assert.ok(decision != null);
  const { signature: _, ...signable } = decision;
  assert.equal(await decisionHashOf(signable), body.decisionHash);
});

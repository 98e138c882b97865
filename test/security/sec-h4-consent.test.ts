/** SEC-H4: whoever has been an approver keeps their place: their keys, and who stands beside them, change with consent only. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { revokeApprover } from "../../src/kernel/approvals/change-approvers.ts";
import { getRecord } from "../../src/kernel/core/read.ts";
import { updatePersona, withdrawPersonaChange } from "../../src/kernel/personas/update-persona.ts";
import { until } from "../support/client.ts";
import { caller, EnforcementStage, type Person } from "../support/enforcement.ts";

const hourMs = 60 * 60 * 1000;

async function stateOf(stage: EnforcementStage, person: Person): Promise<string> {
  return (await stage.keyOf(person))?.state ?? "gone";
}

function untilState(stage: EnforcementStage, person: Person, wanted: string): Promise<string> {
  return until(
    () => stateOf(stage, person),
    (state) => state === wanted,
  );
}

async function answer(stage: EnforcementStage, person: Person, decision: "allow" | "deny"): Promise<void> {
  const { request_id } = await stage.askedAboutChange(person);
  stage.gateway.deliver(request_id, await stage.signed(person, request_id, decision));
}

describe("A further key of an approver", () => {
  test("SEC-H4 counts for nothing until the approver signs for it with a key they have", async () => {
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const bob = await stage.person("bob");
    const second = await stage.person("ann");
    assert.equal(await stateOf(stage, second), "pending");
    const { artifact_hash, request_id } = await stage.askedAboutChange(ann);
    const { payload } = await stage.opened(ann, request_id);
    assert.match(
      String(payload.details),
      new RegExp(second.keys.signerKeyId),
      "the new key is what is signed",
    );
    assert.ok(artifact_hash.length > 0);
    await answer(stage, bob, "allow");
    await until(
      async () => (await stage.audit()).some(({ event }) => event === "decision.accepted"),
      Boolean,
    );
    assert.equal(await stateOf(stage, second), "pending", "bob cannot vouch for ann");
    await answer(stage, ann, "allow");
    await untilState(stage, second, "active");
  });

  test("SEC-H4 is refused for good by any approver, and by an administrator", async () => {
    await using stage = await EnforcementStage.open();
    await stage.person("ann");
    const bob = await stage.person("bob");
    const second = await stage.person("ann");
    await answer(stage, bob, "deny");
    await untilState(stage, second, "gone");
    const third = await stage.person("ann");
    await stage.kernel.dispatch(revokeApprover, caller, { signerKeyId: third.keys.signerKeyId });
    assert.equal(await stateOf(stage, third), "gone");
    stage.clock.offsetMs = 48 * hourMs;
    const fourth = await stage.person("ann");
    assert.deepEqual(
      [await stateOf(stage, second), await stateOf(stage, third), await stateOf(stage, fourth)],
      ["gone", "gone", "pending"],
    );
  });

  test("SEC-H4 counts after the waiting period if nobody refuses, also when all keys were revoked", async () => {
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    await stage.kernel.dispatch(revokeApprover, caller, { signerKeyId: ann.keys.signerKeyId });
    const second = await stage.person("ann");
    assert.equal(await stateOf(stage, second), "pending", "revoking the old key is no way around");
    stage.clock.offsetMs = 23 * hourMs;
    const third = await stage.person("ann");
    assert.equal(await stateOf(stage, second), "pending");
    stage.clock.offsetMs = 24 * hourMs + 1;
    await untilState(stage, second, "active");
    assert.equal(await stateOf(stage, third), "pending");
  });
});

describe("A persona that wants signatures", () => {
  test("SEC-H4 changes its policy, tier and approvers only with the quorum; it can be withdrawn", async () => {
    await using stage = await EnforcementStage.open();
    const ann = await stage.person("ann");
    const bob = await stage.person("bob");
    const personaId = await stage.persona({ channel: "harp", quorum: 2, approvers: ["ann", "bob"] });
    const policy = async () => (await getRecord(stage.kernel, caller, "persona", personaId)).approval_policy;
    const change = (changes: object) => stage.kernel.dispatch(updatePersona, caller, { personaId, changes });

    for (const changes of [{ approval_policy: { quorum: 1 } }, { autonomy_tier: "act_auto" }]) {
      const { result } = await change(changes);
      assert.deepEqual(result.pending_change?.changes, changes);
      assert.equal(result.version, "1");
    }
    assert.equal((await policy())?.quorum, 2);
    const withdrawn = await stage.kernel.dispatch(withdrawPersonaChange, caller, { personaId });
    assert.equal(withdrawn.result.pending_change, undefined);

    await change({ approval_policy: { channel: "harp", quorum: 2, approvers: ["ann", "bob", "carol"] } });
    await answer(stage, ann, "allow");
    await until(
      async () => (await stage.audit()).some(({ event }) => event === "decision.accepted"),
      Boolean,
    );
    assert.deepEqual((await policy())?.approvers, ["ann", "bob"], "one of two is not enough");
    await answer(stage, bob, "allow");
    await until(policy, (found) => found?.approvers?.length === 3);
    const after = await getRecord(stage.kernel, caller, "persona", personaId);
    assert.deepEqual([after.version, after.pending_change], ["2", undefined]);

    const { result } = await change({ description: "says something else", autonomy_tier: "suggest" });
    assert.equal(result.version, "3", "what does not loosen anything needs nobody");
  });

  test("SEC-H4 a new approver it would ask is let in by its quorum, and the first ones by nobody", async () => {
    await using stage = await EnforcementStage.open();
    await stage.persona({ channel: "harp", quorum: 2 });
    const ann = await stage.person("ann");
    assert.equal(await stateOf(stage, ann), "active", "there is nobody who could agree");
    const bob = await stage.person("bob");
    assert.equal(await stateOf(stage, bob), "pending");
    await answer(stage, ann, "allow");
    await untilState(stage, bob, "active");
    const mallory = await stage.person("mallory");
    await answer(stage, ann, "allow");
    const accepted = async () =>
      (await stage.audit()).filter(({ event }) => event === "decision.accepted").length;
    await until(accepted, (count) => count === 2);
    assert.equal(await stateOf(stage, mallory), "pending");
    await answer(stage, bob, "deny");
    await untilState(stage, mallory, "gone");
  });
});

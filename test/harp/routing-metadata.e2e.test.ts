/** Who gets what: enforcers by their channels, approvers by name, token or tenant, and what of the metadata goes along. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { accepted, fresh, type Gateway, type Party, pair, refusal, startGateway } from "../support/harp.ts";
import { type Channel, openSse, openWs } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({ movable: true });
});
after(() => gateway[Symbol.asyncDispose]());

describe("The enforcer's side", () => {
  test("HARP-62 an exchange belongs to the authenticated enforcer, whatever the envelope says", async () => {
    // Given two enforcers of a tenant, when both submit, then each exchange is that of the one who was authenticated,
    // whatever the envelope says.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.enforcer(id);
    const forged = enforcer.artifact({ envelope: { sender: other.sender } });
    refusal(await enforcer.post("/v1/artifacts", forged), 403, "Forbidden");
    refusal(await other.get(`/v1/exchanges/${forged.requestId}`), 404, "ExchangeNotFound");
    const submitted = await enforcer.submit();
    const elsewhere = await other.submit();
    for (const exchange of [submitted, elsewhere]) await approver.decide(exchange);
    assert.deepEqual(
      (await enforcer.inbox()).map(({ requestId }) => requestId),
      [submitted.requestId],
    );
    assert.deepEqual(
      (await other.inbox()).map(({ requestId }) => requestId),
      [elsewhere.requestId],
    );
    assert.deepEqual((await enforcer.inbox())[0].envelope.recipient, { enforcerId: enforcer.id });
    refusal(await other.get(`/v1/enforcers/${enforcer.id}/inbox`), 403, "Forbidden");
  });

  test("HARP-63 a decision goes only to the newest live channel, else to the one before", async () => {
    // Given several live channels, when a decision is made, then the most recent one gets it and no other; after that is
    // closed, the one before it does.
    const { enforcer, approver } = await gateway.tenant();
    const decide = async () => {
      const submitted = await enforcer.submit();
      accepted(await approver.decide(submitted), 200, "decision.accepted");
      return submitted.requestId;
    };
    const opened: Channel[] = [];
    for (const open of [openWs, openSse, openWs, openSse]) opened.push(await open(enforcer));
    const closed: Channel[] = [];
    // Acknowledged, so that nothing of it comes again to the next one.
    while (opened.length > 0) {
      const latest = opened.pop() ?? assert.fail();
      for (let n = 0; n < 2; n++) {
        const requestId = await decide();
        const { msgId } = await latest.about(requestId, "decision.deliver");
        accepted(await enforcer.acknowledge(requestId, msgId), 200, "ack.accepted");
        for (const other of opened) assert.equal(other.countOf(requestId), 0);
      }
      await latest.close();
      closed.push(latest);
    }
    assert.deepEqual(
      closed.map(({ seen }) => seen.length),
      [2, 2, 2, 2],
    );
    const kept = await decide();
    assert.equal((await enforcer.item(kept)).status, "Undelivered");
  });

  test("HARP-63, HARP-64 an unacknowledged decision moves to the prior channel on close", async () => {
    // Given the channel that got a decision, when it is closed before it acknowledged, then the channel before it gets
    // the decision without asking.
    const { enforcer, approver } = await gateway.tenant();
    await using first = await openWs(enforcer);
    const second = await openWs(enforcer);
    const submitted = await enforcer.submit();
    await approver.decide(submitted);
    const { msgId } = await second.about(submitted.requestId);
    await second.close();
    assert.equal((await first.about(submitted.requestId)).msgId, msgId);
    assert.equal((await enforcer.item(submitted.requestId)).msgId, msgId);
  });
});

describe("The approvers' side", () => {
  test("HARP-65 an unaddressed submission reaches all approvers of the tenant on all channels", async () => {
    // Given a submission to nobody in particular, when it is accepted, then every approver of the tenant has it, and
    // those who are there hear of it on all their channels.
    const { id, enforcer, approver: first } = await gateway.tenant();
    const second = await gateway.approver(id);
    const stranger = (await gateway.tenant()).approver;
    await using sse = await openSse(first);
    await using socket = await openWs(first);
    await using elsewhere = await openSse(stranger);
    const { requestId } = await enforcer.submit();
    const [one, two] = await Promise.all([sse.about(requestId), socket.about(requestId)]);
    assert.deepEqual(one, two);
    assert.deepEqual((await first.item(requestId)).envelope, one);
    const filed = (await second.item(requestId)).envelope;
    assert.deepEqual(filed.recipient, { approverId: second.id });
    assert.deepEqual(one.recipient, { approverId: first.id });
    assert.deepEqual(filed.body, one.body);
    assert.equal(await stranger.item(requestId), undefined);
    assert.equal(elsewhere.seen.length, 0);
  });

  test("HARP-65 a named approver alone gets it: envelope before token before metadata", async () => {
    // Given an approver who is named, when it is submitted, then that one has it and nobody else, by the envelope before
    // the token before the metadata.
    const { id, enforcer, approver: first } = await gateway.tenant();
    const [second, third] = [await gateway.approver(id), await gateway.approver(id)];
    const routingToken = await pair(enforcer, second);
    const recipient = { approverId: first.id };
    const cases: [Json, Party][] = [
      [{ envelope: { recipient } }, first],
      [{ body: { metadata: { approverId: third.id } } }, third],
      [{ body: { metadata: { routingToken } } }, second],
      [{ body: { metadata: { routingToken, approverId: third.id } } }, second],
      [{ envelope: { recipient }, body: { metadata: { routingToken, approverId: third.id } } }, first],
    ];
    for (const [options, chosen] of cases) {
      const submitted = await enforcer.submit(options);
      for (const party of [first, second, third]) {
        const item = await party.item(submitted.requestId);
        assert.equal(item?.requestId, party === chosen ? submitted.requestId : undefined);
        if (party === chosen) continue;
        refusal(await party.decide(submitted), 403, "Forbidden");
        refusal(await party.get(`/v1/exchanges/${submitted.requestId}`), 404, "ExchangeNotFound");
      }
      assert.equal(await chosen.state(submitted.requestId), "pendingApproval");
      accepted(await chosen.decide(submitted), 200, "decision.accepted");
    }
  });

  test("HARP-65 several tokens route to each of their approvers; an unknown one routes nothing", async () => {
    // Given several tokens, when one artifact names them all, then each of their approvers has it; one that is unknown
    // routes nothing.
    const { id, enforcer, approver: first } = await gateway.tenant();
    const [second, third] = [await gateway.approver(id), await gateway.approver(id)];
    const routingToken = [await pair(enforcer, first), await pair(enforcer, second)];
    const { requestId } = await enforcer.submit({ body: { metadata: { routingToken } } });
    for (const party of [first, second]) assert.equal((await party.item(requestId)).status, "Pending");
    assert.equal(await third.item(requestId), undefined);
    for (const unknown of ["rt-unknown", [], ["rt-unknown"]]) {
      const artifact = enforcer.artifact({ body: { metadata: { routingToken: unknown } } });
      refusal(await enforcer.post("/v1/artifacts", artifact), 422, "NoApproverAvailable");
      assert.equal(await first.item(artifact.requestId), undefined);
    }
  });

  test("HARP-65 one approver's decision clears all inboxes and makes the others too late", async () => {
    // Given several approvers, when one has decided, then nobody has it in the inbox and the others come too late.
    const { id, enforcer, approver: first } = await gateway.tenant();
    const second = await gateway.approver(id);
    const submitted = await enforcer.submit();
    accepted(await first.decide(submitted, { decision: "reject" }), 200, "decision.accepted");
    for (const party of [first, second]) assert.equal(await party.item(submitted.requestId), undefined);
    refusal(await second.decide(submitted), 409, "AlreadyDecidedConflict");
  });
});

/** What of the metadata an approver sees: pushed, in the inbox, and alike for all. */
async function forwarded(enforcer: Party, approver: Party, metadata: Json): Promise<Json> {
  await using channel = await openSse(approver);
  const { requestId } = await enforcer.submit({ body: metadata === undefined ? {} : { metadata } });
  const pushed = await channel.about(requestId);
  assert.deepEqual((await approver.item(requestId)).envelope, pushed);
  return pushed.body.metadata;
}

describe("Metadata", () => {
  test("HARP-66 approvers never see routing metadata, in any spelling or depth", async () => {
    // Given routing in the metadata, in any spelling and at any depth, when an approver looks, then none of it is there.
    const { id: tenantId, enforcer, approver } = await gateway.tenant();
    const routingToken = await pair(enforcer, approver);
    const secret = { ROUTINGTOKEN: routingToken, ApproverID: approver.id, TenantId: tenantId };
    const metadata = {
      routingToken,
      approverId: approver.id,
      tenantId,
      tenantHint: "north",
      repoName: "harp",
      ...secret,
      nested: { list: [{ ...secret, kept: 1 }, [secret]], routingtoken: routingToken },
    };
    const seen = await forwarded(enforcer, approver, metadata);
    assert.equal(seen.repoName, "harp");
    assert.deepEqual(seen.nested.list[0], { kept: 1 });
    const text = JSON.stringify(seen);
    assert.doesNotMatch(text, /routingtoken|approverid|tenantid|tenanthint/i);
    for (const word of [routingToken, approver.id, tenantId]) assert.ok(!text.includes(word), word);
  });

  test("HARP-66 the item of an expired request contains no routing either", async () => {
    // Given a request that expired, when its item is read, then routing is not in it either.
    const { id: tenantId, enforcer, approver } = await gateway.tenant();
    const metadata = { approverId: approver.id, tenantId, workspaceName: "w" };
    const { requestId } = await enforcer.submit({ body: { metadata } });
    gateway.moveBy(3_600_000);
    const { envelope } = await approver.item(requestId, "/expired");
    assert.deepEqual(envelope.body.metadata, { workspaceName: "w" });
    assert.ok(!JSON.stringify(envelope).includes(tenantId));
  });

  test("HARP-67 approvers see unknown labels and members unchanged", async () => {
    // Given labels and members that nobody has heard of, when an approver looks, then all are there as they were.
    const { enforcer, approver } = await gateway.tenant();
    const metadata = {
      workspaceName: "airlock",
      repoName: "harp-spec",
      enforcerLabel: "Antigravity",
      requestLabel: "Pre Tool Use",
      "vendor.example/unknown": { n: [1, null, "ü\u2028", { deep: false }] },
      routingTokens: "no routing, only called alike",
    };
    assert.deepEqual(await forwarded(enforcer, approver, metadata), metadata);
  });

  test("HARP-68 a submission without metadata, or with routing only, shows approvers none", async () => {
    // Given no metadata, or none but routing, when it is submitted, then it is accepted and approvers see no metadata at
    // all.
    const { id: tenantId, enforcer, approver } = await gateway.tenant();
    assert.equal(await forwarded(enforcer, approver, undefined), undefined);
    for (const metadata of [{}, { approverId: approver.id }, { tenantId, tenantHint: "x" }]) {
      assert.equal(await forwarded(enforcer, approver, metadata), undefined);
    }
  });

  test("HARP-67 a submission with oversized metadata is rejected and nothing is stored", async () => {
    // Given metadata that is too large, when it is submitted, then it is refused and nothing is kept.
    const { enforcer } = await gateway.tenant();
    const requestId = fresh("req");
    const metadata = { repoName: "x".repeat(8 * 1024) };
    const answer = await enforcer.post("/v1/artifacts", enforcer.artifact({ requestId, body: { metadata } }));
    refusal(answer, 413, "PayloadTooLarge");
    refusal(await enforcer.get(`/v1/exchanges/${requestId}`), 404);
  });

  test("HARP-67 given a trace, when an approver looks, then it was not forwarded", async () => {
    const { enforcer, approver } = await gateway.tenant();
    const { requestId } = await enforcer.submit({ envelope: { trace: { refreshOf: "req-0", span: "s" } } });
    assert.equal((await approver.item(requestId)).envelope.trace, undefined);
  });
});

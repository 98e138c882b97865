/** A gateway with short times: keep-alives, idle connections, redelivery without being asked, rates, and stricter metadata. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { until } from "../support/client.ts";
import { accepted, type Gateway, refusal, startGateway } from "../support/harp.ts";
import { openSse, openWs, ssePath, wsPath } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({
    settings: {
      gatewayId: "gw-test",
      pingMs: 100,
      // Long enough for a machine that has other things to do.
      idleMs: 3000,
      redeliverMs: 100,
      redeliverMsMax: 200,
      lifetimeMsMax: 60_000,
      strippedMetadata: ["branchName"],
    },
  });
});
after(() => gateway[Symbol.asyncDispose]());

// Most of what these do is wait, each in a tenant of its own.
describe("Keep-alives", { concurrency: true }, () => {
  test("HARP-104 an idle socket is pinged repeatedly and stays while it answers", async () => {
    // Given an open socket, when nothing happens, then it is pinged again and again, and stays as long as it answers.
    const { enforcer } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    let pings = 0;
    channel.socket.socket.on("ping", () => {
      pings += 1;
    });
    // Longer than an idle connection may be.
    await until(
      async () => pings,
      (count) => count >= 35,
    );
    const { msgType } = await channel.ask(enforcer.artifact({ lifeMs: -1000 }));
    assert.equal(msgType, "error", "it is still there to refuse something");
  });

  test("HARP-104 given a socket that answers no ping, when the time is up, then it is closed", async () => {
    const { enforcer, approver } = await gateway.tenant();
    const socket = new WebSocket(gateway.base.replace(/^http/, "ws") + wsPath(enforcer), {
      headers: { authorization: `Bearer ${enforcer.key}` },
      autoPong: false,
    });
    await once(socket, "open");
    await once(socket, "close");
    const path = `/v1/presence/enforcers/${enforcer.id}`;
    await until(
      () => approver.get(path),
      ({ body }) => body.status === "offline",
    );
  });

  test("HARP-94, HARP-104 an idle stream carries pings and nothing else", async () => {
    // Given an open stream, when nothing happens, then there are pings on it and nothing else.
    const { approver } = await gateway.tenant();
    await using channel = await openSse(approver);
    const events = await until(
      async () => channel.events,
      ({ length }) => length >= 3,
    );
    for (const { event, data } of events) {
      assert.equal(event, "ping");
      assert.ok(data.length <= 1);
    }
    assert.deepEqual(channel.seen, []);
  });
});

describe("Redelivery", { concurrency: true }, () => {
  test("HARP-77 repeats unacknowledged messages with the same id on the same channel", async () => {
    // Given messages that are not acknowledged, when time passes, then they are pushed again on the same channel, with
    // the same id, until they are.
    const { enforcer, approver } = await gateway.tenant();
    await using there = await openWs(enforcer);
    await using here = await openSse(approver);
    const submitted = await enforcer.submit({ lifeMs: 50_000 });
    const { requestId } = submitted;
    const requests = [];
    for (let n = 0; n < 3; n++) requests.push(await here.about(requestId, "approval.request"));
    for (const request of requests) assert.deepEqual(request, requests[0]);
    accepted(await approver.acknowledge(requestId, requests[0].msgId), 200, "ack.accepted");
    await approver.decide(submitted);
    const deliveries = [];
    for (let n = 0; n < 3; n++) deliveries.push(await there.about(requestId, "decision.deliver"));
    for (const delivery of deliveries) assert.deepEqual(delivery, deliveries[0]);
    accepted(await enforcer.acknowledge(requestId, deliveries[0].msgId), 200, "ack.accepted");
    // Others that are pushed several times show that time has passed for this one too.
    const [requestsBefore, deliveriesBefore] = [here.countOf(requestId), there.countOf(requestId)];
    const other = await enforcer.submit({ lifeMs: 50_000 });
    await approver.decide(other);
    for (let n = 0; n < 4; n++) await there.about(other.requestId, "decision.deliver");
    assert.equal(here.countOf(requestId), requestsBefore);
    // One may have been on its way when it was acknowledged.
    assert.ok(there.countOf(requestId) <= deliveriesBefore + 1);
  });

  test("HARP-63, HARP-77 an unacknowledged decision goes to the other channel when one closes", async () => {
    // Given two channels, when the later one got a decision, did not acknowledge it and is closed, then the earlier one
    // gets it, as the same message.
    const { enforcer, approver } = await gateway.tenant();
    await using earlier = await openWs(enforcer);
    const later = await openSse(enforcer);
    const submitted = await enforcer.submit({ lifeMs: 50_000 });
    await approver.decide(submitted);
    const { msgId } = await later.about(submitted.requestId);
    await later.about(submitted.requestId);
    assert.equal(earlier.countOf(submitted.requestId), 0, "one channel at a time");
    await later.close();
    assert.equal((await earlier.about(submitted.requestId)).msgId, msgId);
  });
});

describe("Revoked keys", () => {
  test("HARP-102 revoking a key ends its open stream and sends nothing more on it", async () => {
    // Given an open stream, when its key is revoked, then it ends and nothing more is said on it.
    const { id, enforcer } = await gateway.tenant();
    const created = await gateway.admin.createKey({ scopes: ["harp:approver:leaver"], tenant_id: id });
    const approver = await gateway.approver(id, "leaver");
    await using channel = await openSse(Object.assign(Object.create(approver), { key: created.key }));
    const first = await enforcer.submit({ lifeMs: 50_000 });
    await channel.about(first.requestId);
    await gateway.revokeKey(id, created.id);
    refusal(await approver.call(ssePath(approver), { key: created.key }), 401, "Unauthenticated");
    await channel.closed;
    const second = await enforcer.submit({ lifeMs: 50_000 });
    accepted(await approver.get(`/v1/exchanges/${second.requestId}`), 200, "exchange.status");
    assert.equal(channel.countOf(second.requestId), 0);
  });

  test("HARP-102 given an open socket, when its key is revoked, then it is closed", async () => {
    const { id } = await gateway.tenant();
    const created = await gateway.admin.createKey({ scopes: ["harp:enforcer:leaver"], tenant_id: id });
    const leaver = Object.assign(Object.create(await gateway.enforcer(id, "leaver")), { key: created.key });
    const channel = await openWs(leaver);
    await gateway.revokeKey(id, created.id);
    await channel.closed;
  });
});

describe("What an operator decides", () => {
  test("HARP-66 configured metadata names are hidden from approvers beside the built-in ones", async () => {
    // Given more names that are kept from approvers, when they look, then those are not there, beside those that never
    // are.
    const { enforcer, approver } = await gateway.tenant();
    const metadata = {
      BranchName: "secret",
      tenantId: "t",
      repoName: "harp",
      deep: [{ branchname: "secret" }],
    };
    const { requestId } = await enforcer.submit({ lifeMs: 50_000, body: { metadata } });
    const { envelope } = await approver.item(requestId);
    assert.deepEqual(envelope.body.metadata.repoName, "harp");
    assert.ok(!JSON.stringify(envelope).includes("secret"));
    assert.equal(envelope.body.metadata.tenantId, undefined);
    assert.deepEqual(envelope.sender, { gatewayId: "gw-test" });
  });

  test("HARP-61 an artifact that would be pending beyond a shorter lifetime returns 422", async () => {
    // Given a shorter lifetime, when an artifact would be pending for longer, then it is 422.
    const { enforcer } = await gateway.tenant();
    const artifact = enforcer.artifact({ lifeMs: 120_000 });
    refusal(await enforcer.post("/v1/artifacts", artifact), 422, "ExpiryTooFar");
  });
});

test("HARP-104 the rate limit returns 429 with a wait time, on REST and sockets, per caller", async () => {
  // Given somebody who calls too often, when the limit is reached, then it is 429 with a time to wait, over REST and on
  // a socket alike, and others notice nothing.
  await using limited = await startGateway({ settings: { callsPerMinute: 20 } });
  const { id, enforcer, approver } = await limited.tenant();
  await using channel = await openWs(enforcer);
  const answer = await until(
    () => enforcer.get("/v1/exchanges/unknown"),
    ({ status }) => status === 429,
  );
  refusal(answer, 429, "RateLimited");
  assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  assert.equal(answer.body.body.details.retryable, true);
  channel.send(enforcer.artifact());
  assert.equal((await channel.until("error")).body.code, "RateLimited");
  assert.deepEqual(await approver.inbox(), []);
  const other = await limited.enforcer(id);
  await other.submit();
  assert.equal((await approver.inbox()).length, 1);
});

/** Server-sent events of the gateway: their names, their one line of data, and that nothing depends on them. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until } from "../support/client.ts";
import { callHarp, fresh, type Gateway, refusal, startGateway } from "../support/harp.ts";
import { openSse, openWs, type SseChannel, ssePath } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway();
});
after(() => gateway[Symbol.asyncDispose]());

/** Every event so far is named after its message, has its id, and is one line. */
function assertOnTheWire({ events, seen }: SseChannel): void {
  const messages = events.filter(({ event }) => event !== "ping");
  assert.equal(messages.length, seen.length);
  for (const [n, { id, event, data }] of messages.entries()) {
    assert.equal(data.length, 1, "one line");
    assert.deepEqual(JSON.parse(data[0] ?? ""), seen[n]);
    assert.deepEqual([id, event], [seen[n].msgId, seen[n].msgType]);
  }
}

describe("Events", () => {
  test("HARP-94 an approver's stream sends a request and its withdrawal as named, one-line events", async () => {
    // Given an approver's stream, when a request comes and is withdrawn, then both are events with their names, their
    // ids and one line of data.
    const { enforcer, approver } = await gateway.tenant();
    await using channel = await openSse(approver);
    assert.match(channel.headers.get("cache-control") ?? "", /no-store|no-cache/);
    const { requestId } = await enforcer.submit({
      body: { metadata: { requestLabel: "two\nlines\r\n\r\nand data: more" } },
    });
    const { body } = await channel.about(requestId, "approval.request");
    assert.equal(body.metadata.requestLabel, "two\nlines\r\n\r\nand data: more");
    await enforcer.withdraw(requestId);
    await channel.about(requestId, "exchange.withdrawn");
    assert.equal(channel.seen.length, 2);
    assertOnTheWire(channel);
  });

  test("HARP-94 an enforcer's stream sends decisions and refreshes as named, one-line events", async () => {
    // Given an enforcer's stream, when a decision is made and a refresh asked for, then both are events with their
    // names, their ids and one line of data.
    const { enforcer, approver } = await gateway.tenant();
    await using channel = await openSse(enforcer);
    const submitted = await enforcer.submit();
    const { requestId } = submitted;
    await until(
      () => approver.post(`/v1/exchanges/${requestId}/refresh`),
      ({ status }) => status === 200,
    );
    await channel.about(requestId, "refresh.request");
    await approver.decide(submitted, { reason: "line\nline" });
    const { body } = await channel.about(requestId, "decision.deliver");
    assert.equal(body.reason, "line\nline");
    assertOnTheWire(channel);
  });

  test("HARP-94 requests and decisions reach the inboxes without any stream", async () => {
    // Given no stream at all, when requests and decisions are made, then all are in the inboxes.
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit();
    assert.equal((await approver.item(submitted.requestId)).status, "Pending");
    await approver.decide(submitted);
    assert.equal((await enforcer.item(submitted.requestId)).status, "Undelivered");
  });

  test("HARP-94 a stream that keeps reconnecting gets every request at least once", async () => {
    // Given a stream that hangs up again and again, when requests come all the time, then every one is pushed at least
    // once and all are listed.
    const { enforcer, approver } = await gateway.tenant();
    const got = new Set<string>();
    const sent: string[] = [];
    for (let round = 0; round < 5; round++) {
      await using channel = await openSse(approver);
      const submissions = Array.from({ length: 4 }, () => enforcer.submit());
      for (const { requestId } of await Promise.all(submissions)) sent.push(requestId);
      for (const requestId of sent.slice(-2)) await channel.about(requestId);
      for (const { requestId } of channel.seen) got.add(requestId);
    }
    await using last = await openSse(approver);
    for (const requestId of sent) await last.about(requestId);
    assert.ok(got.size > 0);
    assert.deepEqual((await approver.inbox()).map(({ requestId }) => requestId).sort(), sent.sort());
  });

  test("HARP-94 all streams and sockets of an approver get the same message", async () => {
    // Given streams and sockets of one approver, when a request comes, then all of them have the same message.
    const { enforcer, approver } = await gateway.tenant();
    await using one = await openSse(approver);
    await using two = await openSse(approver);
    await using three = await openWs(approver);
    const { requestId } = await enforcer.submit();
    const [first, ...others] = await Promise.all(
      [one, two, three].map((channel) => channel.about(requestId)),
    );
    for (const other of others) assert.deepEqual(other, first);
  });
});

describe("Who may listen", () => {
  test("HARP-101, HARP-102 a stream is refused without credentials or with another's", async () => {
    // Given somebody without credentials, or with those of another, when they open a stream, then it is refused.
    const { id, enforcer, approver } = await gateway.tenant();
    const others = [enforcer, await gateway.approver(id), (await gateway.tenant()).approver];
    refusal(await callHarp(gateway.base, ssePath(approver)), 401, "Unauthenticated");
    for (const other of others) refusal(await other.get(ssePath(approver)), 403, "Forbidden");
    refusal(await approver.get(ssePath(enforcer)), 403, "Forbidden");
    refusal(await approver.get(ssePath({ role: "approver", id: fresh("app") })), 403, "Forbidden");
  });
});

/** Over which channels messages go, when they go again, and what a slow reader costs. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../../test/support/client.ts";
import { principal, refusalOf, TestGateway, tenantId } from "../../../test/support/gateway.ts";
import type { StoredDocument } from "../../store/port.ts";

const enforcer = principal("enforcer", "enf");

async function decided(gateway: TestGateway, requestId: string): Promise<void> {
  const approver = await gateway.approver("app");
  await gateway.gateway.submitArtifact(enforcer, gateway.artifact(requestId));
  await gateway.gateway.submitDecision(approver, gateway.decision(requestId, "app"));
}

test("HARP-63 decisions go to the enforcer's latest channel and fall back to the other one", async () => {
  // Given two channels of an enforcer, when decisions are made, then they go over the one that connected last, and over
  // the other once that is gone, with what was not acknowledged.
  await using test = await TestGateway.open();
  const first = await test.channel("enforcer", "enf");
  const second = await test.channel("enforcer", "enf");
  await decided(test, "r1");
  const [delivered] = await second.untilTold(1);
  assert.equal(first.told.length, 0);
  second.close();
  const [again] = await first.untilTold(1);
  assert.equal(again?.msgId, delivered?.msgId, "the same message");
  await decided(test, "r2");
  await first.untilTold(2);
  assert.deepEqual(first.requestIds, ["r1", "r2"]);
  assert.deepEqual(second.requestIds, ["r1"]);
});

test("HARP-63, HARP-70 decisions go to the previous channel once the latest has closed", async () => {
  // Given a channel that was the last, when it closes before anything was decided, then decisions go over the one before
  // it, whatever presence says.
  await using test = await TestGateway.open();
  const first = await test.channel("enforcer", "enf");
  const second = await test.channel("enforcer", "enf");
  second.close();
  test.moveBy(60 * 60_000);
  const asker = principal("approver", "somebody");
  assert.equal((await test.gateway.presenceOf(asker, "enf")).status, "offline");
  await decided(test, "r1");
  await first.untilTold(1);
  assert.deepEqual(second.told, []);
});

test("HARP-64, HARP-77 a new channel gets all unacknowledged decisions, the oldest first", async () => {
  // Given decisions that nobody listened for, when a channel opens, then all that were not acknowledged are told, the
  // oldest first.
  await using test = await TestGateway.open();
  for (const requestId of ["r1", "r2", "r3"]) await decided(test, requestId);
  const { body } = await test.gateway.inboxPage(enforcer, { role: "enforcer", id: "enf" }, "undelivered", {
    limit: 10,
  });
  const [, second] = body.items;
  await test.gateway.acknowledge(enforcer, test.ack("r2", second?.msgId ?? "", { enforcerId: "enf" }));
  const channel = await test.channel("enforcer", "enf");
  await channel.untilTold(2);
  await decided(test, "r4");
  await channel.untilTold(3);
  assert.deepEqual(channel.requestIds, ["r1", "r3", "r4"]);
});

test("HARP-65 a submission reaches all channels of each approver, one message per approver", async () => {
  // Given several channels of each approver, when an artifact is submitted, then all of them are told, each approver
  // with a message of its own.
  await using test = await TestGateway.open();
  for (const id of ["a", "b"]) await test.approver(id);
  const channels = [
    await test.channel("approver", "a"),
    await test.channel("approver", "a"),
    await test.channel("approver", "b"),
  ];
  await test.gateway.submitArtifact(enforcer, test.artifact("r1"));
  for (const channel of channels) await channel.untilTold(1);
  const [one, again, other] = channels.map(({ told }) => told[0]?.msgId);
  assert.equal(one, again);
  assert.notEqual(one, other);
});

test("HARP-77 redelivers after 15 and 30 more seconds and stops once acknowledged", async () => {
  // Given a message that was not acknowledged, when 15 and 30 more seconds have passed, then it is told again each time,
  // and no more once it is acknowledged.
  await using test = await TestGateway.open();
  const approver = await test.approver("app");
  const channel = await test.channel("approver", "app");
  await test.gateway.submitArtifact(enforcer, test.artifact("r1"));
  await channel.untilTold(1);
  test.moveBy(14_999);
  await test.gateway.tick();
  test.moveBy(1);
  await test.gateway.tick();
  await channel.untilTold(2);
  test.moveBy(30_000);
  await test.gateway.tick();
  const [first, ...again] = await channel.untilTold(3);
  assert.deepEqual(again, [first, first]);
  await test.gateway.acknowledge(
    approver,
    test.ack("r1", first?.msgId ?? "", { approverId: "app" }, "received"),
  );
  test.moveBy(60_000);
  await test.gateway.tick();
  await test.gateway.submitArtifact(enforcer, test.artifact("r2"));
  await channel.untilTold(4);
  assert.deepEqual(channel.requestIds, ["r1", "r1", "r1", "r2"]);
  assert.deepEqual(await test.inbox("app"), ["r1", "r2"], "acknowledged, it stays listed");
});

test("HARP-77 reads no message ahead of a slow reader and delivers all once it resumes", async () => {
  // Given a reader that takes one message and no more, when hundreds wait, then none is read ahead of it, and all come
  // once it goes on.
  await using test = await TestGateway.open();
  await test.approver("app");
  const channel = await test.channel("approver", "app");
  const { promise, resolve } = Promise.withResolvers<void>();
  channel.room = () => promise;
  const requestIds = Array.from({ length: 300 }, (_, index) => `r${index}`);
  for (const requestId of requestIds) {
    await test.gateway.submitArtifact(enforcer, test.artifact(requestId));
  }
  assert.equal(channel.told.length, 1);
  // What is over before its turn comes is not told any more.
  await test.gateway.withdraw(enforcer, "r299");
  resolve();
  const told = await channel.untilTold(300);
  const requests = told.filter(({ msgType }) => msgType === "approval.request");
  assert.deepEqual(
    requests.map(({ requestId }) => requestId),
    requestIds.slice(0, -1),
  );
  const [hint, ...more] = told.filter(({ msgType }) => msgType === "exchange.withdrawn");
  assert.deepEqual([hint?.requestId, more], ["r299", []]);
});

test("HARP-63, HARP-77 delivers a stored decision whose commit has not been reported yet", async () => {
  // Given a decision that is on disk while its commit has not been told yet, when the channel is nudged by others, then
  // it is told all the same.
  const told = Promise.withResolvers<void>();
  const stale = new Map<string, StoredDocument | undefined>();
  let isLate = false;
  await using test = await TestGateway.open({
    through: (store) => ({
      ...store,
      of: (tenantId) => ({
        ...store.of(tenantId),
        async get(kind, id) {
          return stale.has(id) ? stale.get(id) : await store.of(tenantId).get(kind, id);
        },
      }),
      async commit(batch) {
        const ids = isLate ? batch.expect : [];
        for (const { kind, id } of ids) stale.set(id, await store.get(kind, id));
        const events = await store.commit(batch);
        if (isLate) await told.promise;
        stale.clear();
        return events;
      },
    }),
  });
  const approver = await test.approver("app");
  await test.gateway.submitArtifact(enforcer, test.artifact("r1"));
  const channel = await test.channel("enforcer", "enf");
  isLate = true;
  const deciding = test.gateway.submitDecision(approver, test.decision("r1", "app"));
  await until(
    async () => await test.store.of(tenantId).count("delivery"),
    (count) => count === 1,
  );
  test.gateway.channels.nudge({ tenantId, role: "enforcer", id: "enf" });
  await new Promise((resolve) => setImmediate(resolve));
  told.resolve();
  await deciding;
  await channel.untilTold(1);
});

test("rejects a channel beyond an enforcer's limit until another closes", async () => {
  // Given an enforcer that opens channels and closes none, when there are too many, then the next is refused, and
  // closing one makes room.
  await using test = await TestGateway.open();
  const channels = [];
  for (let count = 0; count < 32; count++) channels.push(await test.channel("enforcer", "enf"));
  assert.equal(await refusalOf(test.channel("enforcer", "enf")), "RateLimited");
  channels[7]?.close();
  await test.channel("enforcer", "enf");
});

test("HARP-92 a refresh goes to the enforcer's last channel, or fails as offline", async () => {
  // Given an approver that asks for a refresh, when the enforcer listens, then it is told over its last channel;
  // otherwise it is offline.
  await using test = await TestGateway.open();
  const approver = await test.approver("app");
  await test.gateway.submitArtifact(enforcer, test.artifact("r1"));
  assert.equal(await refusalOf(test.gateway.refresh(approver, "r1", "enf")), "EnforcerOffline");
  assert.equal(await refusalOf(test.gateway.refresh(approver, "r1", "other")), "EnforcerNotFound");
  const [first, last] = [await test.channel("enforcer", "enf"), await test.channel("enforcer", "enf")];
  await test.gateway.refresh(approver, "r1", null);
  const [hint] = await last.untilTold(1);
  assert.equal(hint?.msgType, "refresh.request");
  assert.deepEqual(first.told, []);
});

/** What time does to exchanges: they expire whether or not anybody looks, and in the end nothing of them is left. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { principal, refusalOf, TestGateway, tenantId } from "../../../test/support/gateway.ts";

const enforcer = principal("enforcer", "enf");
const dayMs = 24 * 60 * 60 * 1000;
const lifeMs = 10 * 60_000;

async function pending(test: TestGateway, ...requestIds: string[]): Promise<void> {
  await test.approver("app");
  for (const requestId of requestIds) await test.gateway.submitArtifact(enforcer, test.artifact(requestId));
}

test("HARP-52 an exchange expires right after its last millisecond, without a sweep", async () => {
  // Given a pending exchange, when its last millisecond has come, then it can be decided; a millisecond later it is
  // expired for whoever asks, without a sweep.
  await using test = await TestGateway.open();
  await pending(test, "r1", "r2");
  const approver = principal("approver", "app");
  test.moveBy(lifeMs);
  await test.gateway.submitDecision(approver, test.decision("r1", "app"));
  test.moveBy(1);
  const late = test.gateway.submitDecision(approver, test.decision("r2", "app"));
  assert.equal(await refusalOf(late), "ExchangeExpiredConflict");
  assert.equal(await test.state("r1"), "decided");
  assert.equal(await test.state("r2"), "expired");
});

test("HARP-52, HARP-89 a sweep stores exchanges as expired and moves them to the other list", async () => {
  // Given exchanges that nobody looks at, when they are swept, then they are expired in the store, and each is in the
  // other list.
  await using test = await TestGateway.open();
  await pending(test, "r1", "r2", "r3");
  await test.gateway.withdraw(enforcer, "r2");
  await test.gateway.dismiss(principal("approver", "app"), "app", "r3");
  test.moveBy(lifeMs + 1);
  await test.gateway.tick();
  const stored = await test.store.of(tenantId).list({
    kind: "exchange",
    order: "oldest_first",
    limit: 10,
  });
  assert.deepEqual(
    stored.map(({ body }) => (body as { state: string }).state),
    ["expired", "withdrawn", "expired"],
  );
  assert.deepEqual(await test.inbox("app"), []);
  assert.deepEqual(
    await test.inbox("app", "expired"),
    ["r1"],
    "who took it out of the inbox does not get it back",
  );
});

test("HARP-52, HARP-89 overdue exchanges are listed only as expired before any sweep", async () => {
  // Given exchanges that are overdue, when an inbox is read before any sweep, then they are only in the one of what
  // expired.
  await using test = await TestGateway.open();
  await pending(test, "r1");
  test.moveBy(60_000);
  await pending(test, "r2");
  test.moveBy(lifeMs - 60_000 + 1);
  assert.deepEqual(await test.inbox("app"), ["r2"]);
  assert.deepEqual(await test.inbox("app", "expired"), ["r1"]);
});

test("given somebody who waits, when the exchange expires in a sweep, then the wait ends", async () => {
  await using test = await TestGateway.open();
  await pending(test, "r1");
  const signal = new AbortController().signal;
  const waiting = test.gateway.waitForDecision(enforcer, "r1", { timeoutMs: 60_000, signal });
  test.moveBy(lifeMs + 1);
  await test.gateway.tick();
  assert.equal(await waiting, null);
});

test("a sweep after the retention deletes document, events and blobs and frees the ids", async () => {
  // Given exchanges that are over, when their retention is, then nothing of them is left: no document, no event, no
  // blob, and their ids are free.
  await using test = await TestGateway.open();
  await test.approver("app");
  const approver = principal("approver", "app");
  const ciphertext = { alg: "X", data: "y".repeat(100_000) };
  for (const requestId of ["decided", "expired", "withdrawn"]) {
    await test.gateway.submitArtifact(enforcer, test.artifact(requestId, { ciphertext }));
  }
  await test.gateway.submitDecision(approver, test.decision("decided", "app"));
  await test.gateway.withdraw(enforcer, "withdrawn");
  const blobs = (await exchangeBodies(test)).map(({ sealed }) => sealed.sha256);
  assert.equal(new Set(blobs).size, 3, "each has a blob of its own, though they are the same");
  test.moveBy(7 * dayMs - 1);
  await test.gateway.tick();
  assert.equal(await test.state("decided"), "decided");
  assert.equal((await exchangeBodies(test)).length, 3);

  test.moveBy(lifeMs + 1);
  assert.equal(await refusalOf(test.state("decided")), "ExchangeNotFound", "before any sweep");
  await test.gateway.tick();
  for (const kind of ["exchange", "inbox_item", "delivery"]) {
    assert.equal(await test.store.of(tenantId).count(kind), 0, kind);
  }
  for (const sha256 of blobs) assert.equal(await test.store.of(tenantId).blob(sha256), undefined);
  const left = await test.store.events({ after: 0, limit: 100 });
  assert.deepEqual([...new Set(left.map(({ event }) => event))], ["approver.known"]);
  const { body } = await test.gateway.submitArtifact(enforcer, test.artifact("decided", { ciphertext }));
  assert.deepEqual([body.state, body.duplicate], ["pendingApproval", false]);
});

test("an id past its retention starts a new exchange even without a sweep", async () => {
  // Given an exchange past its retention that was not swept, when its id is used again, then it is a new exchange.
  await using test = await TestGateway.open();
  await pending(test, "r1");
  await test.gateway.withdraw(enforcer, "r1");
  test.moveBy(8 * dayMs);
  const other = { artifactHash: `sha256:${"0".repeat(64)}` };
  const { body } = await test.gateway.submitArtifact(enforcer, test.artifact("r1", other));
  assert.deepEqual([body.state, body.duplicate], ["pendingApproval", false]);
  assert.deepEqual(await test.inbox("app"), ["r1"]);
});

test("an exchange decided early is kept until its artifact expires despite a short retention", async () => {
  // Given a retention shorter than an artifact lives, when it is decided early, then it is kept until it expires.
  await using test = await TestGateway.open({ settings: { retainMs: 0 } });
  await pending(test, "r1");
  await test.gateway.submitDecision(principal("approver", "app"), test.decision("r1", "app"));
  test.moveBy(lifeMs - 1);
  await test.gateway.tick();
  assert.equal(await test.state("r1"), "decided");
  test.moveBy(2);
  await test.gateway.tick();
  assert.equal(await refusalOf(test.state("r1")), "ExchangeNotFound");
});

test("a retention extended later keeps exchanges and does not sweep them again and again", async () => {
  // Given an operator who keeps things longer than when they were written, when they are swept, then they stay, and are
  // not looked at again and again.
  const settings = { retainMs: dayMs };
  await using test = await TestGateway.open({ settings });
  await pending(test, "r1");
  await test.gateway.withdraw(enforcer, "r1");
  test.gateway.deps.settings.retainMs = 30 * dayMs;
  test.moveBy(2 * dayMs);
  await test.gateway.tick();
  assert.equal(await test.state("r1"), "withdrawn");
  const due = { kind: "exchange", after: { wakeAt: -1, id: "" }, through: test.nowMs, limit: 10 };
  assert.deepEqual(await test.store.due(due), []);
});

test("HARP-89 artifacts of one millisecond get distinct times and are paged in that order", async () => {
  // Given many artifacts in one millisecond, when an inbox is paged through, then they are in the order of their times,
  // which are all different.
  await using test = await TestGateway.open();
  await test.approver("app");
  const requestIds = Array.from({ length: 25 }, (_, index) => `r${(index * 7) % 25}`);
  await Promise.all(
    requestIds.map((requestId) => test.gateway.submitArtifact(enforcer, test.artifact(requestId))),
  );
  const times: string[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const { body } = await test.gateway.inboxPage(
      principal("approver", "app"),
      { role: "approver", id: "app" },
      "pending",
      { cursor, limit: 4 },
    );
    times.push(...body.items.map(({ createdAt }) => createdAt));
    for (const { requestId } of body.items) seen.add(requestId);
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  assert.equal(seen.size, 25);
  assert.deepEqual(times, [...new Set(times)].sort());
});

test("a page of the inbox holds no more large artifacts than can be sent, and the next goes on", async () => {
  // Given artifacts of two megabytes, when an inbox is read, then a page has no more of them than can be sent, and the
  // next goes on.
  await using test = await TestGateway.open();
  await test.approver("app");
  const ciphertext = { alg: "X", data: "y".repeat(2_000_000) };
  for (const requestId of ["r1", "r2", "r3"]) {
    await test.gateway.submitArtifact(enforcer, test.artifact(requestId, { ciphertext }));
  }
  const page = (cursor?: string) =>
    test.gateway.inboxPage(principal("approver", "app"), { role: "approver", id: "app" }, "pending", {
      cursor,
      limit: 100,
    });
  const first = await page();
  assert.deepEqual(
    first.body.items.map(({ requestId }) => requestId),
    ["r1", "r2"],
  );
  const second = await page(first.body.nextCursor ?? "");
  assert.deepEqual(
    second.body.items.map(({ requestId }) => requestId),
    ["r3"],
  );
  assert.equal(second.body.nextCursor, null);
  const [item] = second.body.items;
  assert.ok(item?.envelope.msgType === "approval.request");
  assert.deepEqual(item.envelope.body.ciphertextRef, { ...ciphertext, kind: "inline" });
});

async function exchangeBodies(test: TestGateway): Promise<{ sealed: { sha256: string } }[]> {
  const found = await test.store.of(tenantId).list({
    kind: "exchange",
    order: "oldest_first",
    limit: 99,
  });
  return found.map(({ body }) => body as { sealed: { sha256: string } });
}

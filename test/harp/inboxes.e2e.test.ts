/** Inboxes: what is in them and for how long, page by page, and what waiting for a decision gives. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, until } from "../support/client.ts";
import { accepted, type Gateway, refusal, startGateway } from "../support/harp.ts";
import { openSse } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({ movable: true });
});
after(() => gateway[Symbol.asyncDispose]());

const lifeMs = 10 * 60_000;
const dayMs = 24 * 3_600_000;

function ids(items: Json[]): string[] {
  return items.map(({ requestId }) => requestId);
}

describe("Inboxes of approvers", () => {
  test("HARP-89 one inbox lists only pending exchanges, the other only expired ones", async () => {
    // Given exchanges in every state, when the inboxes are read, then one shows what is pending and the other what
    // expired, and nothing else is in them.
    const { id, enforcer, approver } = await gateway.tenant();
    const short = await enforcer.submit({ lifeMs });
    const decided = await enforcer.submit({ lifeMs });
    await approver.decide(decided);
    const withdrawn = await enforcer.submit({ lifeMs });
    await enforcer.withdraw(withdrawn.requestId);
    const cancelled = await enforcer.submit({ lifeMs });
    await gateway.cancel(id, cancelled.requestId);
    gateway.moveBy(lifeMs + 1000);
    const pending = await enforcer.submit({ lifeMs });
    const [item, ...others] = await approver.inbox();
    assert.deepEqual(others, []);
    assert.equal(item.status, "Pending");
    assert.equal(item.envelope.requestId, pending.requestId);
    assert.equal(item.expiresAt, pending.envelope.body.expiresAt);
    const [expired, ...rest] = await approver.inbox("/expired");
    assert.deepEqual(rest, []);
    assert.deepEqual([expired.requestId, expired.status], [short.requestId, "Expired"]);
    assert.equal(expired.envelope.msgType, "approval.request");
  });

  test("HARP-89 pages of any size return each item once, the oldest first", async () => {
    // Given many items, when pages of every size are followed, then each item comes exactly once, the oldest first.
    const { enforcer, approver } = await gateway.tenant();
    const sent: string[] = [];
    for (let n = 0; n < 23; n++) sent.push((await enforcer.submit({ lifeMs })).requestId);
    for (const limit of [1, 7, 23, 100]) assert.deepEqual(ids(await approver.inbox("", limit)), sent);
    gateway.moveBy(lifeMs + 1000);
    for (const limit of [1, 7, 23, 100]) {
      assert.deepEqual(ids(await approver.inbox("/expired", limit)), sent);
    }
    assert.deepEqual(await approver.inbox(), []);
  });

  test("HARP-89 items that stay are returned once although others come and go while paging", async () => {
    // Given a walk through pages, when items leave and come meanwhile, then those that stay come exactly once.
    const { enforcer, approver } = await gateway.tenant();
    const sent = [];
    for (let n = 0; n < 9; n++) sent.push(await enforcer.submit({ lifeMs }));
    const path = `/v1/approvers/${approver.id}/inbox?limit=3`;
    const first = accepted(await approver.get(path), 200, "inbox.page");
    // The last of the first page, where the walk stands, and one that is still to come.
    for (const n of [2, 4]) await approver.decide(sent[n] ?? assert.fail());
    const added = await enforcer.submit({ lifeMs });
    const seen = ids(first.items);
    for (let cursor = first.nextCursor; cursor !== null; ) {
      const page = accepted(
        await approver.get(`${path}&cursor=${encodeURIComponent(cursor)}`),
        200,
        "inbox.page",
      );
      seen.push(...ids(page.items));
      cursor = page.nextCursor;
    }
    const expected = [...sent.filter((_, n) => n !== 4), added];
    assert.deepEqual(
      seen,
      expected.map(({ requestId }) => requestId),
    );
  });

  test("HARP-89 a page has fifty items by default, invalid limits and cursors return 400", async () => {
    // Given more than fifty items, when no limit is said, then a page has fifty; limits and cursors that make no sense
    // are 400.
    const { enforcer, approver } = await gateway.tenant();
    await Promise.all(Array.from({ length: 51 }, () => enforcer.submit({ lifeMs })));
    const path = `/v1/approvers/${approver.id}/inbox`;
    const page = accepted(await approver.get(path), 200, "inbox.page");
    assert.equal(page.items.length, 50);
    assert.equal(typeof page.nextCursor, "string");
    for (const which of ["", "/expired"]) {
      for (const query of ["limit=0", "limit=101", "limit=x", "limit=1.5", "limit=-1", "cursor=nonsense"]) {
        refusal(await approver.get(`${path}${which}?${query}`), 400, "ValidationError");
      }
    }
    const other = await gateway.tenant();
    const foreign = `/v1/approvers/${other.approver.id}/inbox?cursor=${encodeURIComponent(page.nextCursor)}`;
    const answer = await other.approver.get(foreign);
    if (answer.status === 200) assert.deepEqual(answer.body.body.items, [], "a cursor opens no other inbox");
    else refusal(answer, 400, "ValidationError");
  });

  test("HARP-90 deleting an inbox item leaves the exchange and other inboxes unchanged", async () => {
    // Given an item of an inbox, when it is deleted, then it is gone for its owner, and the exchange and the inboxes of
    // others are as they were.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.approver(id);
    const submitted = await enforcer.submit({ lifeMs });
    const { requestId } = submitted;
    const path = `/v1/approvers/${approver.id}/inbox/${requestId}`;
    const before = await enforcer.status(requestId);
    assert.equal((await approver.delete(path)).status, 204);
    refusal(await approver.delete(path), 404, "InboxItemNotFound");
    assert.equal(await approver.item(requestId), undefined);
    assert.deepEqual(await enforcer.status(requestId), before);
    assert.equal((await other.item(requestId)).status, "Pending");
    // Who put it away may still decide.
    accepted(await approver.decide(submitted), 200, "decision.accepted");
    await using channel = await openSse(approver);
    const next = await enforcer.submit({ lifeMs });
    await channel.about(next.requestId);
    assert.equal(channel.countOf(requestId), 0, "what was deleted is not pushed");
  });

  test("HARP-90 an expired item can be deleted too, an unknown one returns 404", async () => {
    // Given an expired item, when it is deleted, then it is gone from there too; an unknown one is 404.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId } = await enforcer.submit({ lifeMs });
    gateway.moveBy(lifeMs + 1000);
    assert.equal((await approver.item(requestId, "/expired")).status, "Expired");
    const path = `/v1/approvers/${approver.id}/inbox/${requestId}`;
    assert.equal((await approver.delete(path)).status, 204);
    assert.equal(await approver.item(requestId, "/expired"), undefined);
    refusal(await approver.delete(path), 404, "InboxItemNotFound");
    refusal(await approver.delete(`/v1/approvers/${approver.id}/inbox/unknown`), 404, "InboxItemNotFound");
    assert.equal(await enforcer.state(requestId), "expired");
  });

  test("HARP-77 an acknowledged approval request stays listed while it is pending", async () => {
    // Given an approval request, when it is acknowledged, then it stays listed while it is pending.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId } = await enforcer.submit({ lifeMs });
    const item = await approver.item(requestId);
    accepted(await approver.acknowledge(requestId, item.msgId), 200, "ack.accepted");
    assert.deepEqual(await approver.item(requestId), item);
  });
});

describe("Inboxes of enforcers", () => {
  test("HARP-64 decisions wait in the enforcer's inbox, oldest first, until acknowledged", async () => {
    // Given nobody who listens, when decisions are made, then they are in the enforcer's inbox, oldest first, until they
    // are acknowledged.
    const { enforcer, approver } = await gateway.tenant();
    const sent = [];
    for (let n = 0; n < 5; n++) sent.push(await enforcer.submit({ lifeMs }));
    assert.deepEqual(await enforcer.inbox(), []);
    for (const submitted of sent) await approver.decide(submitted);
    assert.deepEqual(
      ids(await enforcer.inbox("", 2)),
      sent.map(({ requestId }) => requestId),
    );
    // Decisions outlive the time in which they could be made.
    gateway.moveBy(lifeMs + 1000);
    const [first, ...others] = await enforcer.inbox();
    accepted(await enforcer.acknowledge(first.requestId, first.msgId), 200, "ack.accepted");
    assert.deepEqual(await enforcer.inbox(), others);
  });

  test("HARP-64, HARP-77 unfetched decisions and expired requests are removed after a week", async () => {
    // Given decisions that nobody fetched and requests that expired, when a week has passed, then they are gone, and not
    // before.
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit({ lifeMs });
    await approver.decide(submitted);
    const expiring = await enforcer.submit({ lifeMs });
    gateway.moveBy(6.9 * dayMs);
    assert.equal((await enforcer.item(submitted.requestId)).status, "Undelivered");
    assert.equal((await approver.item(expiring.requestId, "/expired")).status, "Expired");
    assert.equal(await enforcer.state(submitted.requestId), "decided");
    assert.equal(await enforcer.state(expiring.requestId), "expired");
    gateway.moveBy(0.2 * dayMs + lifeMs);
    // Retention is a sweep, which may need a moment, or somebody who asks.
    const inboxes = async () => [...(await enforcer.inbox()), ...(await approver.inbox("/expired"))];
    assert.deepEqual(await until(inboxes, (items) => items.length === 0), []);
    refusal(await enforcer.get(`/v1/exchanges/${submitted.requestId}`), 404, "ExchangeNotFound");
  });
});

describe("Waiting", () => {
  test("HARP-64, HARP-91 waiting for a made decision returns the inbox message at once", async () => {
    // Given a decision that was made, when it is waited for, then it is there at once, the same message each time and as
    // in the inbox.
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit({ lifeMs });
    await approver.decide(submitted);
    const first = await enforcer.wait(submitted.requestId);
    accepted(first, 200, "decision.deliver");
    assert.deepEqual((await enforcer.wait(submitted.requestId)).body, first.body);
    assert.deepEqual((await enforcer.item(submitted.requestId)).envelope, first.body);
    await enforcer.acknowledge(submitted.requestId, first.body.msgId);
    assert.deepEqual((await enforcer.wait(submitted.requestId)).body, first.body);
  });

  test("HARP-91 given somebody who waits, when the decision comes, then the wait ends with it", async () => {
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit({ lifeMs });
    const waits = [enforcer.wait(submitted.requestId, 60), enforcer.wait(submitted.requestId, 60)];
    await approver.decide(submitted);
    const begun = performance.now();
    const [one, two] = await Promise.all(waits);
    accepted(one ?? assert.fail(), 200, "decision.deliver");
    assert.deepEqual(two?.body, one?.body);
    assert.ok(performance.now() - begun < 30_000, "long before the time was up");
  });

  test("HARP-91 waiting without a decision returns 204 at the timeout, an invalid time 400", async () => {
    // Given no decision, when the time is up, then it is 204 and the exchange is still pending; what is no number is
    // 400.
    const { enforcer } = await gateway.tenant();
    const { requestId } = await enforcer.submit({ lifeMs });
    const begun = performance.now();
    assert.equal((await enforcer.wait(requestId, 1)).status, 204);
    assert.ok(performance.now() - begun >= 900, "it did wait");
    assert.equal(await enforcer.state(requestId), "pendingApproval");
    // Less than a second is a second.
    assert.equal((await enforcer.wait(requestId, 0)).status, 204);
    for (const timeout of ["x", "1.5", ""])
      refusal(await enforcer.wait(requestId, timeout), 400, "ValidationError");
    refusal(await enforcer.wait("unknown", 1), 404, "ExchangeNotFound");
  });

  test("HARP-91 waiting for a withdrawn request returns 204 long before the timeout", async () => {
    // Given somebody who waits for what was withdrawn, when that happens or has happened, then it is 204 long before the
    // time is up.
    const { enforcer } = await gateway.tenant();
    const { requestId } = await enforcer.submit({ lifeMs });
    const begun = performance.now();
    const waiting = enforcer.wait(requestId, 60);
    await enforcer.withdraw(requestId);
    assert.equal((await waiting).status, 204);
    assert.equal((await enforcer.wait(requestId, 60)).status, 204);
    assert.ok(performance.now() - begun < 50_000);
  });
});

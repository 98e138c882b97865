/** One exchange for each request: how it begins, what each event does to it in each state, and that it never changes its mind. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Answer, Json } from "../support/client.ts";
import {
  accepted,
  fresh,
  type Gateway,
  type Party,
  randomHash,
  refusal,
  type Submitted,
  startGateway,
  type Tenant,
} from "../support/harp.ts";
import { openSse, openWs } from "../support/harp-channels.ts";

let gateway: Gateway;
let tenant: Tenant;
let enforcer: Party;
let approver: Party;

before(async () => {
  gateway = await startGateway({ movable: true });
  tenant = await gateway.tenant();
  ({ enforcer, approver } = tenant);
});
after(() => gateway[Symbol.asyncDispose]());

const lifeMs = 10 * 60_000;

describe("Accepting", () => {
  test("HARP-48 an accepted artifact makes one PendingApproval exchange with start and end", async () => {
    // Given an artifact, when it is accepted, then there is one exchange in PendingApproval, which says when it began
    // and when it ends.
    const before = gateway.now();
    // An offset, and more digits than a clock has: what was submitted is kept as it was written.
    const expiresAt = `${gateway.time(lifeMs).slice(0, -5)}.123456+00:00`;
    const { requestId, artifactHash, accepted: body } = await enforcer.submit({ body: { expiresAt } });
    assert.deepEqual(
      { ...body, createdAt: "" },
      { state: "pendingApproval", createdAt: "", expiresAt, artifactHash, duplicate: false },
    );
    assert.ok(Date.parse(body.createdAt) >= before - 1 && Date.parse(body.createdAt) <= gateway.now());
    const { status, body: envelope } = await enforcer.get(`/v1/exchanges/${requestId}`);
    assert.equal(status, 200);
    assert.equal(envelope.expiresAt, expiresAt);
    assert.deepEqual(envelope.body, {
      requestId,
      state: "pendingApproval",
      createdAt: body.createdAt,
      expiresAt,
      artifactHash,
    });
    assert.equal((await approver.item(requestId)).status, "Pending");
  });

  test("HARP-48 given an artifact that is refused, when it is asked for, then there is no exchange", async () => {
    const requestId = fresh("req");
    const bad = enforcer.artifact({ requestId, body: { artifactType: "" } });
    refusal(await enforcer.post("/v1/artifacts", bad), 400, "ValidationError");
    refusal(await enforcer.get(`/v1/exchanges/${requestId}`), 404, "ExchangeNotFound");
    assert.equal(await approver.item(requestId), undefined);
  });

  test("HARP-53 resubmitting an artifact sealed anew returns 202 and pushes nothing", async () => {
    // Given an accepted artifact, when it is submitted again, sealed anew, then it is 202, and neither is a second
    // request made nor anything pushed.
    await using channel = await openSse(approver);
    const first = await enforcer.submit({ body: { metadata: { repoName: "first" } } });
    const request = await channel.about(first.requestId);
    const again = await enforcer.submit({
      requestId: first.requestId,
      body: {
        artifactHash: first.artifactHash.replace("sha256:", ""),
        ciphertext: { alg: "AES-256-GCM", data: "c2VhbGVkIGFuZXc" },
        metadata: { repoName: "second" },
      },
    });
    assert.equal(again.accepted.duplicate, true);
    assert.equal(again.accepted.state, "pendingApproval");
    assert.equal(again.accepted.createdAt, first.accepted.createdAt);
    assert.equal(again.accepted.expiresAt, first.accepted.expiresAt);
    const item = await approver.item(first.requestId);
    assert.deepEqual(item.envelope, request, "the first submission stands");
    // Whatever is pushed comes in order, so that what comes next shows that nothing came between.
    const next = await enforcer.submit();
    await channel.about(next.requestId);
    assert.equal(channel.countOf(first.requestId), 1);
  });

  test("HARP-53 concurrent submissions of one artifact all return 202 and make one exchange", async () => {
    // Given one artifact that is submitted many times at once, when all are answered, then one made the exchange and all
    // are 202.
    const envelope = enforcer.artifact();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => enforcer.post("/v1/artifacts", envelope)),
    );
    const bodies = answers.map((answer) => accepted(answer, 202, "artifact.accepted"));
    assert.equal(bodies.filter(({ duplicate }) => !duplicate).length, 1);
    assert.equal(new Set(bodies.map(({ createdAt }) => createdAt)).size, 1);
    assert.ok(await approver.item(envelope.requestId));
  });

  test("HARP-54 another hash for an accepted request returns 409 and the first stands", async () => {
    // Given an accepted artifact, when its request comes with another hash, then it is 409 and the first one stands.
    const { requestId, artifactHash } = await enforcer.submit();
    const other = enforcer.artifact({ requestId });
    refusal(await enforcer.post("/v1/artifacts", other), 409, "AlreadyExistsConflict");
    assert.equal((await enforcer.status(requestId)).artifactHash, artifactHash);
    assert.equal((await approver.item(requestId)).envelope.body.artifactHash, artifactHash);
  });

  test("HARP-54 of different artifacts sent at once for one request exactly one is accepted", async () => {
    // Given different artifacts under one request at once, when all are answered, then exactly one is accepted.
    const requestId = fresh("req");
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => enforcer.post("/v1/artifacts", enforcer.artifact({ requestId }))),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [
      202,
      ...Array.from({ length: 7 }, () => 409),
    ]);
  });

  test("HARP-61 an expired artifact returns 422 and makes no exchange", async () => {
    // Given an artifact that has already expired, when it is submitted, then it is 422 and there is no exchange.
    const artifact = enforcer.artifact({ lifeMs: -1000 });
    refusal(await enforcer.post("/v1/artifacts", artifact), 422, "ArtifactExpired");
    refusal(await enforcer.get(`/v1/exchanges/${artifact.requestId}`), 404);
  });

  test("HARP-61 an artifact that nobody could approve returns 422 and makes no exchange", async () => {
    // Given nobody who could approve, when an artifact is submitted, then it is 422 and there is no exchange.
    const lonely = await gateway.enforcer(`tenant_${fresh("t")}`);
    const artifact = lonely.artifact();
    refusal(await lonely.post("/v1/artifacts", artifact), 422, "NoApproverAvailable");
    refusal(await lonely.get(`/v1/exchanges/${artifact.requestId}`), 404);
    const unknown = enforcer.artifact({ envelope: { recipient: { approverId: fresh("app") } } });
    refusal(await enforcer.post("/v1/artifacts", unknown), 422, "NoApproverAvailable");
  });

  test("HARP-61 an artifact that would be pending for days returns 422", async () => {
    // Given an artifact that would be pending for days, when it is submitted, then it is 422.
    const artifact = enforcer.artifact({ lifeMs: 25 * 3_600_000 });
    refusal(await enforcer.post("/v1/artifacts", artifact), 422, "ExpiryTooFar");
    await enforcer.submit({ lifeMs: 23 * 3_600_000 });
  });
});

type State = "none" | "pendingApproval" | "decided" | "delivered" | "expired" | "withdrawn" | "cancelled";

/** An exchange that was brought into a state, with the messages about it. */
interface Case extends Submitted {
  /** The id of its approval request; of no message where there is no exchange. */
  requestMsgId: string;
  /** The decision that was accepted, or one that could have been. */
  decision: Json;
}

/** What there is before anything was submitted. */
function nothing(): Case {
  const envelope = enforcer.artifact();
  const { requestId } = envelope;
  const { artifactHash } = envelope.body;
  const decision = approver.decision({ requestId, artifactHash });
  return { requestId, envelope, artifactHash, accepted: null, requestMsgId: fresh("msg"), decision };
}

async function pending(): Promise<Case> {
  const submitted = await enforcer.submit({ lifeMs });
  const { msgId } = await approver.item(submitted.requestId);
  return { ...submitted, requestMsgId: msgId, decision: approver.decision(submitted) };
}

async function decided(): Promise<Case> {
  const found = await pending();
  accepted(await approver.post("/v1/decisions", found.decision), 200, "decision.accepted");
  return found;
}

async function acknowledge({ requestId }: Case): Promise<Answer> {
  const item = await enforcer.item(requestId);
  // Once it is acknowledged it is not in the inbox; whoever waits still gets it.
  const msgId = item?.msgId ?? (await enforcer.wait(requestId, 1)).body?.msgId ?? fresh("msg");
  return await enforcer.acknowledge(requestId, msgId);
}

const bring: Record<State, () => Promise<Case>> = {
  none: async () => nothing(),
  pendingApproval: pending,
  decided,
  async delivered() {
    const found = await decided();
    accepted(await acknowledge(found), 200, "ack.accepted");
    return found;
  },
  async expired() {
    const found = await pending();
    gateway.moveBy(lifeMs + 1000);
    return found;
  },
  async withdrawn() {
    const found = await pending();
    accepted(await enforcer.withdraw(found.requestId), 200, "exchange.withdrawn");
    return found;
  },
  async cancelled() {
    const found = await pending();
    assert.equal((await gateway.cancel(tenant.id, found.requestId)).status, 200);
    return found;
  },
};

async function stateOf({ requestId }: Case): Promise<State> {
  const answer = await enforcer.get(`/v1/exchanges/${requestId}`);
  return answer.status === 404 ? "none" : accepted(answer, 200, "exchange.status").state;
}

/** What an event must come to: the status, the code if it is refused, and the state afterwards. */
type Outcome = [status: number, code: string | null, state: State];

async function row(
  expected: Partial<Record<State, Outcome>>,
  event: (found: Case, state: State) => Promise<Answer>,
): Promise<void> {
  for (const [state, outcome] of Object.entries(expected) as [State, Outcome][]) {
    const found = await bring[state]();
    assert.equal(await stateOf(found), state, "as it was brought about");
    const { status, body } = await event(found, state);
    const code = status < 400 ? null : body.body.code;
    assert.deepEqual([status, code, await stateOf(found)], outcome, `in ${state}`);
  }
}

const later: readonly State[] = ["decided", "delivered", "expired", "withdrawn", "cancelled"];

function each(states: readonly State[], status: number, code: string | null = null): Json {
  return Object.fromEntries(states.map((state): [State, Outcome] => [state, [status, code, state]]));
}

describe("The table of states", () => {
  test("HARP-50 the same artifact returns 202 in each state and changes no existing exchange", async () => {
    // Given each state, when the same artifact comes, then it is 202, and nothing changes where something was.
    await row(
      { none: [202, null, "pendingApproval"], ...each(["pendingApproval", ...later], 202) },
      async ({ envelope }, state) => {
        const answer = await enforcer.post("/v1/artifacts", envelope);
        assert.equal(answer.body.body.duplicate, state !== "none");
        assert.equal(answer.body.body.state, state === "none" ? "pendingApproval" : state);
        return answer;
      },
    );
  });

  test("HARP-50, HARP-54 another artifact for a request is AlreadyExistsConflict in each state", async () => {
    // Given each state, when another artifact comes for the request, then it is AlreadyExistsConflict.
    await row(
      {
        none: [202, null, "pendingApproval"],
        ...each(["pendingApproval", ...later], 409, "AlreadyExistsConflict"),
      },
      ({ requestId }) => enforcer.post("/v1/artifacts", enforcer.artifact({ requestId })),
    );
  });

  test("HARP-50, HARP-56, HARP-57 a new decision takes effect only in the pending state", async () => {
    // Given each state, when a new decision comes, then only what is pending is decided.
    await row(
      {
        none: [404, "ExchangeNotFound", "none"],
        pendingApproval: [200, null, "decided"],
        ...each(["decided", "delivered"], 409, "AlreadyDecidedConflict"),
        ...each(["expired"], 409, "ExchangeExpiredConflict"),
        ...each(["withdrawn"], 404, "ExchangeWithdrawn"),
        ...each(["cancelled"], 409, "ExchangeCancelledConflict"),
      },
      (found) => approver.decide(found, { decision: "reject" }),
    );
  });

  test("HARP-50, HARP-55 a repeated decision returns 200 without effect, or 404 if no exchange", async () => {
    // Given a decision that was accepted, when it comes again, then it is 200 and changes nothing; where there is no
    // exchange it is 404.
    await row(
      { none: [404, "ExchangeNotFound", "none"], ...each(["decided", "delivered"], 200) },
      async ({ decision }, state) => {
        const answer = await approver.post("/v1/decisions", decision);
        if (state !== "none") assert.equal(answer.body.body.duplicate, true);
        return answer;
      },
    );
  });

  test("HARP-50, HARP-78 an acknowledged decision becomes Delivered, undelivered ones return 404", async () => {
    // Given each state, when a delivery is acknowledged, then a decision becomes Delivered, and what was never delivered
    // is 404.
    await row(
      {
        none: [404, "MessageNotFound", "none"],
        pendingApproval: [404, "MessageNotFound", "pendingApproval"],
        decided: [200, null, "delivered"],
        ...each(["delivered"], 200),
      },
      acknowledge,
    );
  });

  test("HARP-50 acknowledging an approval request returns 200 and keeps the state", async () => {
    // Given each state, when an approval request is acknowledged, then it is 200 and the exchange stays as it is.
    await row(
      { none: [404, "MessageNotFound", "none"], ...each(["pendingApproval", ...later], 200) },
      ({ requestId, requestMsgId }) => approver.acknowledge(requestId, requestMsgId),
    );
  });

  test("HARP-50, HARP-58, HARP-59 the owner can withdraw only a pending exchange", async () => {
    // Given each state, when the owner withdraws, then only what is pending is withdrawn.
    await row(
      {
        none: [404, "ExchangeNotFound", "none"],
        pendingApproval: [200, null, "withdrawn"],
        ...each(later, 409, "InvalidStateConflict"),
      },
      ({ requestId }) => enforcer.withdraw(requestId),
    );
  });

  test("HARP-50 an administrator can cancel only a pending exchange", async () => {
    // Given each state, when an administrator cancels, then only what is pending is cancelled.
    for (const state of ["none", "pendingApproval", ...later] as const) {
      const found = await bring[state]();
      const { status } = await gateway.cancel(tenant.id, found.requestId);
      if (state === "pendingApproval") assert.equal(status, 200);
      else assert.ok(status === 404 || status === 409, `${status} in ${state}`);
      assert.equal(await stateOf(found), state === "pendingApproval" ? "cancelled" : state);
      if (state === "pendingApproval") assert.equal(await approver.item(found.requestId), undefined);
    }
  });

  test("HARP-50, HARP-52 only a pending exchange expires when its time passes", async () => {
    // Given each state, when the time of expiry passes, then what was pending expires and nothing else does.
    const states = ["pendingApproval", ...later] as const;
    const cases: [State, Case][] = [];
    for (const state of states.filter((name) => name !== "expired"))
      cases.push([state, await bring[state]()]);
    gateway.moveBy(lifeMs + 1000);
    for (const [state, found] of cases) {
      assert.equal(await stateOf(found), state === "pendingApproval" ? "expired" : state);
    }
  });
});

describe("Expiry", () => {
  test("HARP-52 any call just after the expiry time finds the exchange expired", async () => {
    // Given a pending exchange, when its time has passed by a moment, then the very next call of whatever kind finds it
    // expired.
    const calls: Record<string, (found: Case) => Promise<unknown>> = {
      status: async ({ requestId }) => assert.equal(await approver.state(requestId), "expired"),
      inbox: async ({ requestId }) => assert.equal(await approver.item(requestId), undefined),
      "expired inbox": async ({ requestId }) =>
        assert.equal((await approver.item(requestId, "/expired"))?.status, "Expired"),
      decision: async (found) => refusal(await approver.decide(found), 409, "ExchangeExpiredConflict"),
      withdrawal: async ({ requestId }) =>
        refusal(await enforcer.withdraw(requestId), 409, "InvalidStateConflict"),
      wait: async ({ requestId }) => assert.equal((await enforcer.wait(requestId)).status, 204),
      artifact: async ({ envelope }) =>
        assert.equal((await enforcer.post("/v1/artifacts", envelope)).body.body.state, "expired"),
    };
    for (const [what, call] of Object.entries(calls)) {
      const found = await pending();
      gateway.moveTo(found.accepted.expiresAt);
      gateway.moveBy(2);
      await call(found);
      assert.equal(await stateOf(found), "expired", what);
    }
  });

  test("HARP-52 a pending exchange can still be decided in its last minute", async () => {
    // Given a pending exchange, when its last minute has begun, then it can still be decided.
    const found = await pending();
    gateway.moveTo(found.accepted.expiresAt);
    gateway.moveBy(-60_000);
    accepted(await approver.decide(found), 200, "decision.accepted");
  });
});

describe("Deciding", () => {
  test("HARP-55 a repeated decision, even with other remarks, is a no-op and one message", async () => {
    // Given an accepted decision, when it comes again, also with other remarks, then it is a no-op, the first one
    // stands, and it is delivered as one message.
    await using channel = await openWs(enforcer);
    const submitted = await enforcer.submit();
    const decision = approver.decision(submitted, { reason: "first" });
    const first = accepted(await approver.post("/v1/decisions", decision), 200, "decision.accepted");
    assert.deepEqual([first.state, first.duplicate], ["decided", false]);
    const delivered = await channel.about(submitted.requestId, "decision.deliver");
    const others = [{}, { reason: "second" }, { decisionHash: randomHash() }];
    for (const changes of others) {
      const body = { ...decision.body, ...changes };
      const again = accepted(
        await approver.post("/v1/decisions", { ...decision, body }),
        200,
        "decision.accepted",
      );
      assert.deepEqual(again, { ...first, duplicate: true });
    }
    const next = await enforcer.submit();
    await approver.decide(next);
    await channel.about(next.requestId, "decision.deliver");
    assert.equal(channel.countOf(submitted.requestId, "decision.deliver"), 1);
    assert.deepEqual((await enforcer.item(submitted.requestId)).envelope, delivered);
    assert.deepEqual((await enforcer.status(submitted.requestId)).decision, decision.body);
  });

  test("HARP-56 another decision with the same nonce is AlreadyDecidedConflict, the first stands", async () => {
    // Given an accepted decision, when one with the same nonce says anything else, then it is AlreadyDecidedConflict and
    // the first one stands.
    const submitted = await enforcer.submit();
    const decision = approver.decision(submitted);
    accepted(await approver.post("/v1/decisions", decision), 200, "decision.accepted");
    const others = [
      { decision: "reject" },
      { signature: "other" },
      { nonce: "other" },
      { signerKeyId: "other" },
    ];
    for (const changes of others) {
      const body = { ...decision.body, ...changes };
      const answer = await approver.post("/v1/decisions", { ...decision, body });
      refusal(answer, 409, "AlreadyDecidedConflict");
    }
    assert.deepEqual((await enforcer.status(submitted.requestId)).decision, decision.body);
  });

  test("HARP-51, HARP-56 of concurrent decisions and a withdrawal exactly one wins for everybody", async () => {
    // Given many decisions and a withdrawal at once, when all are answered, then exactly one of them won and everybody
    // sees the same.
    for (let round = 0; round < 10; round++) {
      const submitted = await enforcer.submit();
      const { requestId } = submitted;
      const decisions = Array.from({ length: 8 }, (_, n) =>
        approver.decision(submitted, { decision: n % 2 === 0 ? "approve" : "reject" }),
      );
      // Null is the withdrawal, which in every other round is first in line.
      const rivals: Json[] = decisions.toSpliced(round % 2 === 0 ? 0 : 4, 0, null);
      const answers = await Promise.all(
        rivals.map((rival) =>
          rival === null ? enforcer.withdraw(requestId) : approver.post("/v1/decisions", rival),
        ),
      );
      const winners = rivals.filter((_, n) => answers[n]?.status === 200);
      assert.equal(winners.length, 1, JSON.stringify(answers.map(({ status }) => status)));
      const [winner] = winners;
      const { state, decision } = await enforcer.status(requestId);
      assert.deepEqual(
        { state, decision },
        winner === null
          ? { state: "withdrawn", decision: undefined }
          : { state: "decided", decision: winner.body },
      );
      const delivered = await enforcer.wait(requestId);
      assert.deepEqual(delivered.body?.body, decision);
    }
  });

  test("HARP-51 nothing changes the decision of a decided exchange", async () => {
    // Given a decided exchange, when everything is tried that could change it, then its decision is the same ever after.
    const found = await decided();
    const before = await enforcer.status(found.requestId);
    await approver.decide(found, { decision: "reject" });
    await enforcer.withdraw(found.requestId);
    await enforcer.post("/v1/artifacts", enforcer.artifact({ requestId: found.requestId }));
    await gateway.cancel(tenant.id, found.requestId);
    gateway.moveBy(lifeMs + 1000);
    assert.deepEqual(await enforcer.status(found.requestId), before);
    accepted(await acknowledge(found), 200, "ack.accepted");
    assert.deepEqual(await enforcer.status(found.requestId), { ...before, state: "delivered" });
  });

  test("HARP-57, HARP-122 a decision about another hash returns 422, the exchange stays pending", async () => {
    // Given a pending exchange, when a decision is about another hash, then it is 422 and the exchange is still pending.
    const submitted = await enforcer.submit();
    const wrong = await approver.decide({ ...submitted, artifactHash: randomHash() });
    refusal(wrong, 422, "ArtifactHashMismatch");
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
    const bare = { ...submitted, artifactHash: submitted.artifactHash.replace("sha256:", "") };
    accepted(await approver.decide(bare), 200, "decision.accepted");
  });
});

describe("Withdrawing", () => {
  test("HARP-58 a withdrawal removes the request from all inboxes and notifies the connected", async () => {
    // Given a pending exchange in several inboxes, when it is withdrawn, then it is in none of them any more and those
    // who are there are told.
    const { id, enforcer: owner, approver: first } = await gateway.tenant();
    const second = await gateway.approver(id);
    await using channel = await openSse(first);
    const { requestId } = await owner.submit();
    await channel.about(requestId, "approval.request");
    for (const party of [first, second]) assert.equal((await party.item(requestId)).status, "Pending");
    const body = accepted(await owner.withdraw(requestId), 200, "exchange.withdrawn");
    assert.equal(body.state, "Withdrawn");
    for (const party of [first, second]) {
      assert.equal(await party.item(requestId), undefined);
      assert.equal(await party.item(requestId, "/expired"), undefined);
    }
    const told = await channel.about(requestId, "exchange.withdrawn");
    assert.deepEqual(told.body, body);
  });

  test("HARP-58 a withdrawal accepts an envelope about its request and rejects any other", async () => {
    // Given a withdrawal with a body, when it is an envelope about the request, then it is taken, and about another it
    // is refused.
    const { requestId } = await enforcer.submit();
    const path = `/v1/exchanges/${requestId}/withdraw`;
    const body = { state: "Withdrawn", withdrawnAt: gateway.time(), reason: "no longer needed" };
    const other = enforcer.envelope("exchange.withdrawn", fresh("req"), body);
    refusal(await enforcer.post(path, other), 400, "ValidationError");
    assert.equal(await enforcer.state(requestId), "pendingApproval");
    const right = enforcer.envelope("exchange.withdrawn", requestId, body);
    accepted(await enforcer.post(path, right), 200, "exchange.withdrawn");
  });

  test("HARP-60 withdrawing, awaiting or acknowledging a foreign exchange is rejected", async () => {
    // Given somebody else's exchange, when it is withdrawn, waited for or acknowledged, then that is refused and it
    // stays as it was.
    const other = await gateway.enforcer(tenant.id);
    const found = await decided();
    const { msgId } = await enforcer.item(found.requestId);
    const still = await pending();
    for (const party of [other, approver]) {
      const answers = [
        await party.withdraw(still.requestId),
        await party.wait(found.requestId, 1),
        await party.acknowledge(found.requestId, msgId),
      ];
      for (const { status } of answers) assert.ok(status === 403 || status === 404, String(status));
    }
    assert.equal(await enforcer.state(still.requestId), "pendingApproval");
    assert.equal(await enforcer.state(found.requestId), "decided");
    refusal(await other.get(`/v1/exchanges/${found.requestId}`), 404, "ExchangeNotFound");
  });
});

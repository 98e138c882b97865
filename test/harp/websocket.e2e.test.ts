/** The gateway's WebSocket: one text frame is one envelope, and what is said over it is held to what holds over REST. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Json, until } from "../support/client.ts";
import { fresh, type Gateway, type Party, randomHash, startGateway } from "../support/harp.ts";
import { openSse, openWs, wsPath } from "../support/harp-channels.ts";
import { assertErrorEnvelope } from "../support/harp-schemas.ts";
import { refusedUpgrade } from "../support/socket.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway();
});
after(() => gateway[Symbol.asyncDispose]());

/** The code of an upgrade that must be refused, with the status that belongs to it. */
async function upgradeRefused(party: Party, path: string, withKey = true): Promise<string> {
  const client = Object.assign(gateway.admin.as(party.key), { url: gateway.base });
  const { status, body } = await refusedUpgrade(client, path, { withKey });
  assertErrorEnvelope(body, status);
  return body.body.code;
}

describe("A whole exchange", () => {
  test("HARP-95 submit, decide and acknowledge over WebSocket each get a reply and take effect", async () => {
    // Given both sides on WebSockets, when they submit, decide and acknowledge, then each message has its reply, and all
    // of it happened.
    const { enforcer, approver } = await gateway.tenant();
    await using there = await openWs(enforcer);
    await using here = await openWs(approver);
    const envelope = enforcer.artifact();
    const { requestId } = envelope;
    const reply = await there.ask(envelope);
    assert.deepEqual([reply.msgType, reply.body.state], ["artifact.accepted", "pendingApproval"]);
    const request = await here.about(requestId, "approval.request");
    assert.equal((await here.ask(approver.ackOf(requestId, request.msgId))).msgType, "ack.accepted");
    const submitted = { requestId, artifactHash: envelope.body.artifactHash };
    const decision = approver.decision(submitted);
    assert.equal((await here.ask(decision)).msgType, "decision.accepted");
    const delivered = await there.about(requestId, "decision.deliver");
    assert.deepEqual(delivered.body, decision.body);
    assert.equal((await there.ask(enforcer.ackOf(requestId, delivered.msgId))).msgType, "ack.accepted");
    assert.equal(await enforcer.state(requestId), "delivered");
  });

  test("HARP-95 the reply to a submission without an id names none", async () => {
    // Given a submission without an id of its own, when it is accepted, then the reply names none.
    const { enforcer } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    const envelope = enforcer.artifact();
    channel.send(envelope);
    const reply = await channel.about(envelope.requestId, "artifact.accepted");
    assert.equal(reply.trace?.inReplyTo, undefined);
  });

  test("HARP-95 concurrent submissions on one socket each get their own reply", async () => {
    // Given many submissions on one socket at once, when all are answered, then each has the reply that is its own.
    const { enforcer, approver } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    const envelopes = Array.from({ length: 30 }, () => enforcer.artifact());
    const replies = await Promise.all(envelopes.map((envelope) => channel.ask(envelope)));
    for (const [n, { msgType, requestId, body }] of replies.entries()) {
      assert.deepEqual(
        [msgType, requestId, body.artifactHash],
        ["artifact.accepted", envelopes[n].requestId, envelopes[n].body.artifactHash],
      );
    }
    assert.equal((await approver.inbox()).length, 30);
  });
});

describe("Hello", () => {
  test("HARP-95 a socket works without hello, and hello gets no reply", async () => {
    // Given a socket, when it never says hello, then it works all the same, and hello has no answer.
    const { enforcer, approver } = await gateway.tenant();
    await using silent = await openWs(enforcer);
    const first = await enforcer.submit();
    await approver.decide(first);
    await silent.about(first.requestId, "decision.deliver");
    await using greeting = await openWs(approver);
    greeting.send({ msgType: "hello", capabilities: { push: true, poll: false, sse: false } });
    const second = await enforcer.submit();
    await greeting.about(second.requestId, "approval.request");
    assert.ok(!greeting.seen.some(({ msgType }) => msgType === "error"));
  });

  test("HARP-95 a wrong hello returns an error and keeps the connection", async () => {
    // Given a hello that is wrong, when it is said, then it is an error and the connection stays.
    const { enforcer } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    const wrong = [
      { msgType: "hello", capabilities: "all" },
      { msgType: "hello", capabilities: {}, enforcerLabel: 1 },
      { msgType: "hello", capabilities: { much: "x".repeat(2000) } },
    ];
    for (const frame of wrong) {
      channel.send(frame);
      const { body } = await channel.until("error");
      assert.equal(body.code, "ValidationError", JSON.stringify(frame));
    }
    assert.equal((await channel.ask(enforcer.artifact())).msgType, "artifact.accepted");
  });
});

describe("The rules of REST", () => {
  test("HARP-95, HARP-53, HARP-54, HARP-61 artifacts over a socket get the same codes as REST", async () => {
    // Given artifacts that REST would answer in a certain way, when they come over a socket, then the code is the same.
    const { enforcer } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    const first = enforcer.artifact();
    assert.equal((await channel.ask(first)).body.duplicate, false);
    assert.equal((await channel.ask(first)).body.duplicate, true);
    const { requestId } = first;
    const cases: [Json, string][] = [
      [enforcer.artifact({ requestId }), "AlreadyExistsConflict"],
      [enforcer.artifact({ lifeMs: -1000 }), "ArtifactExpired"],
      [enforcer.artifact({ lifeMs: 50 * 3_600_000 }), "ExpiryTooFar"],
      [enforcer.artifact({ envelope: { recipient: { approverId: fresh("app") } } }), "NoApproverAvailable"],
      [enforcer.artifact({ envelope: { sender: { enforcerId: fresh("enf") } } }), "Forbidden"],
      [enforcer.artifact({ body: { artifactHash: "x" } }), "ValidationError"],
    ];
    for (const [envelope, code] of cases) {
      const reply = await channel.ask(envelope);
      assertErrorEnvelope(reply);
      assert.equal(reply.body.code, code);
      const over = await enforcer.post("/v1/artifacts", envelope);
      assert.equal(over.body.body.code, code, "as over REST");
    }
  });

  test("HARP-95, HARP-56, HARP-57 refused decisions and acks get the same codes as REST", async () => {
    // Given decisions and acknowledgements that REST would refuse, when they come over a socket, then the code is the
    // same.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.approver(id);
    await using channel = await openWs(approver);
    const recipient = { approverId: approver.id };
    const pending = await enforcer.submit({ envelope: { recipient } });
    const decided = await enforcer.submit();
    await approver.decide(decided);
    const withdrawn = await enforcer.submit();
    await enforcer.withdraw(withdrawn.requestId);
    const cases: [Json, string][] = [
      [approver.decision(decided), "AlreadyDecidedConflict"],
      [approver.decision(withdrawn), "ExchangeWithdrawn"],
      [approver.decision({ ...pending, artifactHash: randomHash() }), "ArtifactHashMismatch"],
      [approver.decision({ ...pending, requestId: fresh("req") }), "ExchangeNotFound"],
      [approver.ackOf(pending.requestId, fresh("msg")), "MessageNotFound"],
      [{ ...approver.decision(pending), sender: other.sender }, "Forbidden"],
    ];
    for (const [envelope, code] of cases) assert.equal((await channel.ask(envelope)).body.code, code);
    await using foreign = await openWs(other);
    assert.equal((await foreign.ask(other.decision(pending))).body.code, "Forbidden");
    assert.equal(await enforcer.state(pending.requestId), "pendingApproval");
  });

  test("HARP-95 a message not for this role or for clients is rejected and keeps the connection", async () => {
    // Given a message that is not for this role, or not for clients at all, when it comes, then it is refused and the
    // connection stays.
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit();
    await using there = await openWs(enforcer);
    await using here = await openWs(approver);
    const decision = { ...approver.decision(submitted), sender: enforcer.sender };
    assert.equal((await there.ask(decision)).body.code, "Forbidden");
    const artifact = { ...enforcer.artifact(), sender: approver.sender };
    assert.equal((await here.ask(artifact)).body.code, "Forbidden");
    for (const msgType of [
      "decision.deliver",
      "approval.request",
      "exchange.status",
      "error",
      "prompt.send",
    ]) {
      const reply = await there.ask(enforcer.envelope(msgType, submitted.requestId, {}));
      assert.equal(reply.msgType, "error");
      assert.match(reply.body.code, /^(Forbidden|ValidationError)$/);
    }
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
    assert.equal((await there.ask(enforcer.artifact())).msgType, "artifact.accepted");
  });

  test("HARP-95, HARP-121 a frame that is no envelope returns an error, keeps the connection", async () => {
    // Given frames that are no envelopes, when they come, then each is an error and the connection stays.
    const { enforcer } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    const whole = JSON.stringify(enforcer.artifact());
    const frames = ["", "{", "nothing", whole.slice(0, -1), whole.slice(0, whole.length >> 1)];
    for (const frame of frames) {
      channel.send(frame);
      const { body, requestId } = await channel.until("error");
      assert.deepEqual([body.code, requestId], ["MalformedJson", "-"], frame);
    }
    for (const frame of ["null", "[]", "[{}]", "1", '"text"', "{}"]) {
      channel.send(frame);
      assert.equal((await channel.until("error")).body.code, "ValidationError", frame);
    }
    assert.equal((await channel.ask(JSON.parse(whole))).msgType, "artifact.accepted");
  });

  test("HARP-95 given a binary frame, when it comes, then the connection is closed with 1003", async () => {
    const { enforcer } = await gateway.tenant();
    const channel = await openWs(enforcer);
    channel.socket.socket.send(Buffer.from(JSON.stringify(enforcer.artifact())));
    assert.equal((await channel.socket.closed).code, 1003);
  });

  test("HARP-103 a frame over three megabytes closes with 1009 and stores nothing", async () => {
    // Given a frame of more than three megabytes, when it comes, then the connection is closed with 1009 and nothing is
    // stored.
    const { enforcer } = await gateway.tenant();
    const channel = await openWs(enforcer);
    const envelope = enforcer.artifact();
    channel.send(JSON.stringify(envelope) + " ".repeat(3 * 1024 * 1024));
    assert.equal((await channel.socket.closed).code, 1009);
    const { status } = await enforcer.get(`/v1/exchanges/${envelope.requestId}`);
    assert.equal(status, 404);
  });
});

describe("The upgrade", () => {
  test("HARP-101, HARP-102 missing or foreign credentials or a wrong role refuse the upgrade", async () => {
    // Given no credentials, those of another, or a role that is not theirs, when they connect, then the upgrade is
    // refused.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.enforcer(id);
    assert.equal(await upgradeRefused(enforcer, wsPath(enforcer), false), "Unauthenticated");
    assert.equal(await upgradeRefused(enforcer, wsPath(other)), "Forbidden");
    assert.equal(await upgradeRefused(enforcer, wsPath(approver)), "Forbidden");
    assert.equal(await upgradeRefused(enforcer, wsPath({ role: "approver", id: enforcer.id })), "Forbidden");
  });

  test("HARP-102 a socket of one enforcer cannot speak for another with the same credentials", async () => {
    // Given credentials for two enforcers, when one of them has connected, then the other cannot speak on that socket.
    const { id } = await gateway.tenant();
    const [one, two] = [await gateway.enforcer(id), await gateway.enforcer(id)];
    const scopes = [one, two].map((party) => `harp:enforcer:${party.id}`);
    const { key } = await gateway.admin.createKey({ scopes, tenant_id: id });
    const both = Object.assign(Object.create(one), { key });
    await using channel = await openWs(both);
    assert.equal((await channel.ask(two.artifact())).body.code, "Forbidden");
    assert.equal((await channel.ask(one.artifact())).msgType, "artifact.accepted");
  });

  test("HARP-87 a missing or unknown role or id refuses the upgrade with 400", async () => {
    // Given a role or id that is missing or unknown, when they connect, then the upgrade is refused with 400.
    const { enforcer } = await gateway.tenant();
    for (const query of ["", "?role=enforcer", `?id=${enforcer.id}`, `?role=gateway&id=${enforcer.id}`]) {
      assert.equal(await upgradeRefused(enforcer, `/v1/ws${query}`), "ValidationError", query);
    }
  });

  test("HARP-98 an unsupported version refuses the upgrade with 426", async () => {
    // Given a version that is not supported, when they connect, then the upgrade is refused with 426.
    const { enforcer } = await gateway.tenant();
    const client = Object.assign(gateway.admin.as(enforcer.key), { url: gateway.base });
    const { status, body } = await refusedUpgrade(client, wsPath(enforcer), {
      headers: { "x-harp-version": "0.3" },
    });
    assertErrorEnvelope(body, status);
    assert.equal(body.body.code, "UnsupportedVersion");
  });

  test("HARP-63 a decision for a dropped socket is kept and delivered on reconnect", async () => {
    // Given a socket that was dropped without a word, when a decision is made, then it is kept, and comes when the
    // enforcer is back.
    const { enforcer, approver } = await gateway.tenant();
    await using earlier = await openSse(enforcer);
    const dropped = await openWs(enforcer);
    dropped.socket.socket.terminate();
    await dropped.closed;
    const submitted = await enforcer.submit();
    await approver.decide(submitted);
    const item = await until(
      () => enforcer.item(submitted.requestId),
      (found) => found !== undefined,
    );
    await using back = await openWs(enforcer);
    assert.equal((await back.about(submitted.requestId)).msgId, item.msgId);
    assert.ok(earlier.countOf(submitted.requestId) <= 1);
  });
});

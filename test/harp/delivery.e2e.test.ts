/** At least once, and exactly as it was sent: redelivery until it is acknowledged, and what an acknowledgement must be. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { Json } from "../support/client.ts";
import { accepted, fresh, type Gateway, type Party, refusal, startGateway } from "../support/harp.ts";
import { type Channel, openSse, openWs } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  // What is not pushed when it should be is not pushed at all: time does not repair it.
  const settings = { redeliverMs: 3_600_000, redeliverMsMax: 3_600_000 };
  gateway = await startGateway({ settings });
});
after(() => gateway[Symbol.asyncDispose]());

const channels: Record<string, (party: Party) => Promise<Channel>> = { SSE: openSse, WebSocket: openWs };

describe("Redelivery", () => {
  test("HARP-77 redelivers unacknowledged approval requests in order when the approver reconnects", async () => {
    // Given approval requests that were not acknowledged, when the approver comes back, then they come again, oldest
    // first, as the same messages, and not once they were.
    for (const open of Object.values(channels)) {
      const { enforcer, approver } = await gateway.tenant();
      const sent = [];
      for (let n = 0; n < 3; n++) sent.push((await enforcer.submit()).requestId);
      const channel = await open(approver);
      const firsts = [];
      for (const requestId of sent) firsts.push(await channel.about(requestId));
      await channel.close();
      const [acknowledged] = firsts;
      const ack = await approver.acknowledge(acknowledged.requestId, acknowledged.msgId, {
        status: "received",
      });
      accepted(ack, 200, "ack.accepted");
      await using again = await open(approver);
      const barrier = await enforcer.submit();
      await again.about(barrier.requestId);
      assert.deepEqual(again.seen.slice(0, 2), firsts.slice(1));
      assert.equal(again.countOf(acknowledged.requestId), 0);
      assert.equal((await approver.inbox()).length, 4, "all are listed");
    }
  });

  test("HARP-77 redelivers unacknowledged decisions in order when the enforcer reconnects", async () => {
    // Given decisions that were not acknowledged, when the enforcer comes back, then they come again, oldest first, as
    // the same messages, and not once they were.
    for (const open of Object.values(channels)) {
      const { enforcer, approver } = await gateway.tenant();
      const channel = await open(enforcer);
      const firsts = [];
      for (let n = 0; n < 3; n++) {
        const submitted = await enforcer.submit();
        await approver.decide(submitted);
        firsts.push(await channel.about(submitted.requestId, "decision.deliver"));
      }
      await channel.close();
      const [acknowledged] = firsts;
      accepted(await enforcer.acknowledge(acknowledged.requestId, acknowledged.msgId), 200, "ack.accepted");
      await using again = await open(enforcer);
      for (const { requestId } of firsts.slice(1)) await again.about(requestId);
      assert.deepEqual(again.seen, firsts.slice(1));
      assert.deepEqual(
        (await enforcer.inbox()).map(({ envelope }) => envelope),
        firsts.slice(1),
      );
    }
  });

  test("HARP-77 a Last-Event-ID does not acknowledge messages", async () => {
    // Given a Last-Event-ID, when the stream is opened with it, then it is no acknowledgement.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId } = await enforcer.submit();
    const first = await openSse(approver);
    const { msgId } = await first.about(requestId);
    await first.close();
    await using again = await openSse(approver, { "last-event-id": msgId });
    assert.equal((await again.about(requestId)).msgId, msgId);
  });

  test("HARP-77 a request no longer pending is not pushed to a returning approver", async () => {
    // Given a request that is no longer pending, when the approver comes back, then it is not pushed.
    const { enforcer, approver } = await gateway.tenant();
    const decided = await enforcer.submit();
    const withdrawn = await enforcer.submit();
    await approver.decide(decided);
    await enforcer.withdraw(withdrawn.requestId);
    await using channel = await openWs(approver);
    const next = await enforcer.submit();
    await channel.about(next.requestId);
    assert.equal(channel.countOf(decided.requestId, "approval.request"), 0);
    assert.equal(channel.countOf(withdrawn.requestId, "approval.request"), 0);
  });
});

describe("Pushing", () => {
  test("HARP-63, HARP-65 pushes each of very many requests and decisions without polling", async () => {
    // Given very many requests and decisions at once, when they are made, then each is pushed when it is made, without
    // anybody asking again.
    const { enforcer, approver } = await gateway.tenant();
    await using there = await openWs(enforcer);
    await using here = await openSse(approver);
    const numbers = Array.from({ length: 400 }, (_, n) => n);
    const sent: string[] = [];
    const worker = async () => {
      while (numbers.pop() !== undefined) {
        const submitted = await enforcer.submit();
        sent.push(submitted.requestId);
        await approver.decide(submitted);
      }
    };
    await Promise.all(Array.from({ length: 40 }, worker));
    for (const requestId of sent) await there.about(requestId, "decision.deliver");
    assert.equal(there.seen.length, sent.length, "each once");
    const last = await enforcer.submit();
    await here.about(last.requestId, "approval.request");
    const pushed = here.seen.map(({ requestId }) => requestId);
    assert.equal(new Set(pushed).size, pushed.length, "each at most once");
  });
});

/** A decision that was made and not yet acknowledged. */
async function delivery(enforcer: Party, approver: Party): Promise<Json> {
  const submitted = await enforcer.submit();
  await approver.decide(submitted);
  return (await enforcer.item(submitted.requestId)).envelope;
}

describe("Acknowledgement", () => {
  test("HARP-78 acknowledging as received, processed and again returns 200 and stays Delivered", async () => {
    // Given a delivered decision, when it is acknowledged as received, then as processed, then again, then each is 200
    // and it is Delivered from the first on.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId, msgId } = await delivery(enforcer, approver);
    assert.equal(await enforcer.state(requestId), "decided");
    for (const status of ["received", "processed", "processed", "received"]) {
      const body = { status, ackAt: "2026-02-24T10:01:02+01:00" };
      const answer = accepted(await enforcer.acknowledge(requestId, msgId, body), 200, "ack.accepted");
      assert.deepEqual([answer.msgId, answer.ackAt], [msgId, body.ackAt]);
      assert.equal(await enforcer.state(requestId), "delivered");
      assert.equal(await approver.state(requestId), "delivered");
    }
    assert.deepEqual(await enforcer.inbox(), []);
  });

  test("HARP-79 a malformed acknowledgement returns 400 and acknowledges nothing", async () => {
    // Given a delivered decision, when its acknowledgement has a wrong status, lacks a member or has one too many, then
    // it is 400 and nothing is acknowledged.
    const { enforcer, approver } = await gateway.tenant();
    const { requestId, msgId } = await delivery(enforcer, approver);
    const wrong = [
      { status: "done" },
      { status: "Received" },
      { status: undefined },
      { ackAt: undefined },
      { ackAt: "yesterday" },
      { ackAt: 1_772_000_000 },
      { msgId: undefined },
      { msgId: "" },
      { extra: true },
    ];
    for (const body of wrong) {
      refusal(await enforcer.acknowledge(requestId, msgId, body), 400, "ValidationError");
    }
    assert.equal(await enforcer.state(requestId), "decided");
  });

  test("HARP-79 an acknowledgement by others or for a wrong id returns 404 without effect", async () => {
    // Given a delivered decision, when somebody else acknowledges it, or the message or request is not the right one,
    // then it is 404 and nothing is acknowledged.
    const { id, enforcer, approver } = await gateway.tenant();
    const { requestId, msgId } = await delivery(enforcer, approver);
    const other = await delivery(enforcer, approver);
    const strangers = [approver, await gateway.enforcer(id), (await gateway.tenant()).enforcer];
    for (const stranger of strangers) {
      refusal(await stranger.acknowledge(requestId, msgId), 404, "MessageNotFound");
    }
    const wrong = [
      [requestId, fresh("msg")],
      [requestId, other.msgId],
      [fresh("req"), msgId],
      [other.requestId, msgId],
    ] as const;
    for (const [request, message] of wrong) {
      refusal(await enforcer.acknowledge(request, message), 404, "MessageNotFound");
    }
    const forged = { ...enforcer.ackOf(requestId, msgId), sender: approver.sender };
    refusal(await enforcer.post("/v1/acks", forged), 403, "Forbidden");
    assert.equal(await enforcer.state(requestId), "decided");
    assert.equal((await enforcer.inbox()).length, 2);
  });

  test("HARP-79 acknowledging the approval request of another approver returns 404", async () => {
    // Given an approval request in several inboxes, when one approver acknowledges that of another, then it is 404.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.approver(id);
    const { requestId } = await enforcer.submit();
    const { msgId } = await other.item(requestId);
    assert.notEqual(msgId, (await approver.item(requestId)).msgId, "each has a message of its own");
    refusal(await approver.acknowledge(requestId, msgId), 404, "MessageNotFound");
    accepted(await other.acknowledge(requestId, msgId), 200, "ack.accepted");
  });
});

/** JSON as anybody could put it into an open object, awkward keys and numbers included. */
const awkward = fc.dictionary(
  fc.oneof(fc.string({ unit: "binary", maxLength: 8 }), fc.constantFrom("constructor", "toString", "")),
  fc.jsonValue({ maxDepth: 3 }),
  { maxKeys: 6, noNullPrototype: true },
);

describe("What arrives is what was sent", () => {
  test("HARP-80 forwards every member of the ciphertext unchanged beside its kind", async () => {
    // Given ciphertext with any members, when it is forwarded, then every one of them is as it was, beside its kind.
    const { enforcer, approver } = await gateway.tenant();
    await fc.assert(
      fc.asyncProperty(awkward, async (members) => {
        const { kind: _, ...others } = members;
        const ciphertext = Object.assign(Object.create(null), others, {
          alg: "XChaCha20-Poly1305",
          data: `+/=${randomBytes(16).toString("base64")} \u2028\u0000ü`,
        });
        // Through text, as it goes over the wire: no key may vanish on the way, whatever it is called.
        const raw = JSON.stringify(enforcer.artifact({ body: { ciphertext } }));
        const answer = await enforcer.call("/v1/artifacts", { raw });
        accepted(answer, 202, "artifact.accepted");
        const { envelope } = await approver.item(answer.body.requestId);
        const sent = JSON.parse(raw).body.ciphertext;
        const { kind, ...received } = envelope.body.ciphertextRef;
        assert.equal(kind, "inline");
        assert.deepEqual(Object.keys(received).sort(), Object.keys(sent).sort());
        assert.deepEqual(received, sent);
      }),
      { numRuns: 40 },
    );
  });

  test("HARP-80 a __proto__ member in the ciphertext is forwarded or rejected, never lost", async () => {
    // Given a name that objects of this language treat in their own way, when it is in the ciphertext, then it is
    // forwarded or refused, and never lost.
    const { enforcer, approver } = await gateway.tenant();
    const artifact = enforcer.artifact();
    const raw = JSON.stringify(artifact).replace('"alg":', '"__proto__":{"alg":"none"},"alg":');
    const { status } = await enforcer.call("/v1/artifacts", { raw });
    const item = await approver.item(artifact.requestId);
    if (status === 202) assert.ok(Object.hasOwn(item.envelope.body.ciphertextRef, "__proto__"));
    else assert.deepEqual([status, item], [400, undefined]);
  });

  test("HARP-80 every channel delivers the body of a decision exactly as submitted", async () => {
    // Given a decision with any texts, when it is delivered, by whatever way, then its body is exactly the one that was
    // submitted.
    const { enforcer, approver } = await gateway.tenant();
    await using channel = await openSse(enforcer);
    const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
    const body = fc.record(
      {
        decision: fc.constantFrom("approve", "reject"),
        signerKeyId: text,
        nonce: text,
        signature: text,
        reason: fc.string({ unit: "binary", maxLength: 200 }),
        decisionHash: text,
      },
      { requiredKeys: ["decision", "signerKeyId", "nonce", "signature"], noNullPrototype: true },
    );
    await fc.assert(
      fc.asyncProperty(body, async (chosen) => {
        const submitted = await enforcer.submit();
        const { signerKeyId: _k, nonce: _n, signature: _s, ...base } = approver.decision(submitted).body;
        const sent = JSON.parse(JSON.stringify({ ...base, ...chosen }));
        const envelope = approver.envelope("decision.submit", submitted.requestId, sent);
        accepted(await approver.post("/v1/decisions", envelope), 200, "decision.accepted");
        assert.deepEqual((await channel.about(submitted.requestId)).body, sent);
        assert.deepEqual((await enforcer.wait(submitted.requestId)).body.body, sent);
        assert.deepEqual((await enforcer.item(submitted.requestId)).envelope.body, sent);
        assert.deepEqual((await enforcer.status(submitted.requestId)).decision, sent);
        const { msgId } = await enforcer.item(submitted.requestId);
        await enforcer.acknowledge(submitted.requestId, msgId);
      }),
      { numRuns: 30 },
    );
  });

  test("HARP-80 a 2 MB sealed artifact arrives complete in the inbox and on a channel", async () => {
    // Given a sealed artifact of two megabytes, when it is forwarded, then every byte arrives, in the inbox and on a
    // channel.
    const { enforcer, approver } = await gateway.tenant();
    await using channel = await openWs(approver);
    const data = randomBytes(2 * 1024 * 1024).toString("base64url");
    const { requestId } = await enforcer.submit({ body: { ciphertext: { alg: "AES-256-GCM", data } } });
    assert.ok((await channel.about(requestId)).body.ciphertextRef.data === data);
    assert.ok((await approver.item(requestId)).envelope.body.ciphertextRef.data === data);
  });
});

/** What is refused of messages that are well-formed JSON: over HTTP and WebSocket alike, and without anything having happened. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Json } from "../support/client.ts";
import { accepted, type Gateway, type Party, randomHash, refusal, startGateway } from "../support/harp.ts";
import { openWs, type WsChannel } from "../support/harp-channels.ts";

let gateway: Gateway;
let enforcer: Party;
let approver: Party;
let enforcerSocket: WsChannel;
let approverSocket: WsChannel;

before(async () => {
  gateway = await startGateway();
  ({ enforcer, approver } = await gateway.tenant());
  enforcerSocket = await openWs(enforcer);
  approverSocket = await openWs(approver);
});
after(() => gateway[Symbol.asyncDispose]());

/** Sends it both ways, both of which must refuse it alike, and checks that the exchange is as it was. */
async function refused(party: Party, path: string, envelope: Json, code = "ValidationError"): Promise<void> {
  const shown = JSON.stringify(envelope).slice(0, 500);
  const answer = await party.post(path, envelope);
  assert.equal(answer.body?.body?.code, code, `${answer.status} ${shown}`);
  const socket = party.role === "enforcer" ? enforcerSocket : approverSocket;
  const before = socket.seen.length;
  socket.send(envelope);
  const reply = await socket.until(
    (frame) => frame.msgType === "error" && socket.seen.indexOf(frame) >= before,
  );
  assert.equal(reply.body.code, code, shown);
}

/** Members over those of an object; undefined takes one away. */
function withMembers(object: Json, members: Json): Json {
  return JSON.parse(JSON.stringify({ ...object, ...members }));
}

const badTimes = [
  "2026-02-24",
  "2026-02-24T10:00:00",
  "2026-02-24 10:00:00Z",
  "2026-02-24t10:00:00z",
  "2026-02-30T10:00:00Z",
  "2026-13-01T10:00:00Z",
  "2026-02-24T25:00:00Z",
  "2026-02-24T10:00:60Z",
  "2026-02-24T10:00:00+0100",
  "2026-02-24T10:00:00.Z",
  "Tue, 24 Feb 2026 10:00:00 GMT",
  "1771927200",
  "",
  1771927200000,
  null,
  {},
];

const badEnvelopes: Json[] = [
  { extra: 1 },
  { version: "0.2" },
  { msgType: "artifact.submitted" },
  { msgType: "approval.request" },
  { msgType: undefined },
  { msgType: 1 },
  { requestId: undefined },
  { requestId: "" },
  { requestId: 7 },
  { requestId: "x".repeat(129) },
  { msgId: "" },
  { createdAt: undefined },
  { sender: undefined },
  { sender: {} },
  { sender: "enf" },
  { sender: { enforcerId: "a", approverId: "b" } },
  { sender: { enforcerId: "a", extra: "b" } },
  { recipient: { gatewayId: "gw" } },
  { recipient: "somebody" },
  { trace: "text" },
  { body: undefined },
  { body: null },
  { body: [] },
  { body: "text" },
];

describe("Envelopes", () => {
  test("HARP-86, HARP-87 an envelope with an extra, missing or wrong member returns 400", async () => {
    // Given an envelope with a member too many, too few or of the wrong kind, when it is sent, then it is 400.
    const submitted = await enforcer.submit();
    for (const members of badEnvelopes) {
      const { requestId, ...artifact } = enforcer.artifact();
      await refused(enforcer, "/v1/artifacts", withMembers({ requestId, ...artifact }, members));
      await refused(approver, "/v1/decisions", withMembers(approver.decision(submitted), members));
      refusal(await enforcer.get(`/v1/exchanges/${requestId}`), 404, "ExchangeNotFound");
    }
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
  });

  test("HARP-86 given a message for another endpoint, when it is sent, then it is 400", async () => {
    const submitted = await enforcer.submit();
    const ack = enforcer.ackOf(submitted.requestId, "msg-1");
    refusal(await enforcer.post("/v1/artifacts", ack), 400, "ValidationError");
    refusal(await enforcer.post("/v1/acks", enforcer.artifact()), 400, "ValidationError");
    refusal(
      await approver.post("/v1/decisions", { ...ack, sender: approver.sender }),
      400,
      "ValidationError",
    );
    const hello = { msgType: "hello", capabilities: { push: true } };
    refusal(await enforcer.post("/v1/artifacts", hello), 400, "ValidationError");
  });

  test("HARP-87 times that are not RFC 3339 return 400 everywhere", async () => {
    // Given times that are not those of RFC 3339, when they are sent anywhere, then it is 400.
    const submitted = await enforcer.submit();
    for (const time of badTimes) {
      await refused(enforcer, "/v1/artifacts", { ...enforcer.artifact(), createdAt: time });
      // An optional member that is null is absent.
      if (time !== null)
        await refused(enforcer, "/v1/artifacts", { ...enforcer.artifact(), expiresAt: time });
      await refused(enforcer, "/v1/artifacts", enforcer.artifact({ body: { expiresAt: time } }));
      await refused(approver, "/v1/decisions", { ...approver.decision(submitted), createdAt: time });
    }
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
  });

  test("HARP-87 given the same moment in other notations, when it is sent, then it is accepted", async () => {
    const at = gateway.now(600_000);
    const shifted = new Date(at + 5.5 * 3_600_000).toISOString();
    const notations = [
      new Date(at).toISOString(),
      `${new Date(at).toISOString().slice(0, 19)}Z`,
      `${new Date(at).toISOString().slice(0, 19)}.123456789Z`,
      `${shifted.slice(0, 19)}+05:30`,
      `${new Date(at).toISOString().slice(0, 19)}-00:00`,
    ];
    for (const expiresAt of notations) {
      const { requestId } = await enforcer.submit({ body: { expiresAt } });
      assert.equal((await enforcer.status(requestId)).expiresAt, expiresAt);
    }
  });

  test("HARP-123 a message from the future or ending before it began is rejected", async () => {
    // Given a message from the future, or one that ends before it began, when it is sent, then it is refused.
    const submitted = await enforcer.submit();
    // Longer than any machine that is busy takes to send it.
    const future = gateway.time(10 * 60_000);
    await refused(
      enforcer,
      "/v1/artifacts",
      enforcer.artifact({ lifeMs: 3_600_000, envelope: { createdAt: future } }),
    );
    await refused(approver, "/v1/decisions", { ...approver.decision(submitted), createdAt: future });
    const soon = { createdAt: gateway.time(50_000) };
    accepted(
      await enforcer.post("/v1/artifacts", enforcer.artifact({ envelope: soon })),
      202,
      "artifact.accepted",
    );
    const reversed = enforcer.artifact({ envelope: { createdAt: gateway.time(59_000) }, lifeMs: 50_000 });
    const { status } = await enforcer.post("/v1/artifacts", reversed);
    assert.ok(status === 400 || status === 422, String(status));
    refusal(await enforcer.get(`/v1/exchanges/${reversed.requestId}`), 404);
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
  });

  test("HARP-123 different expiries in envelope and body return 400, other notations are equal", async () => {
    // Given an envelope and a body that end at different moments, when they are sent, then it is 400; in other notations
    // of one moment it is not.
    const at = gateway.now(600_000);
    const expiresAt = new Date(at).toISOString();
    const body = { expiresAt };
    const other = new Date(at + 1).toISOString();
    await refused(enforcer, "/v1/artifacts", enforcer.artifact({ body, envelope: { expiresAt: other } }));
    const same = `${new Date(at + 3_600_000).toISOString().slice(0, -1)}+01:00`;
    const submitted = await enforcer.submit({ body, envelope: { expiresAt: same } });
    assert.equal(submitted.accepted.expiresAt, expiresAt);
  });
});

describe("Bodies", () => {
  test("HARP-86, HARP-87, HARP-122, HARP-124 an artifact with an invalid body returns 400", async () => {
    // Given an artifact whose body is wrong in any way, when it is sent, then it is 400 and there is no exchange.
    const hex = randomHash().slice(7);
    const ciphertext = { alg: "AES-256-GCM", data: "ZGF0YQ" };
    const wrong: Json[] = [
      { extra: 1 },
      { artifactType: undefined },
      { artifactType: "" },
      { artifactType: 1 },
      { artifactHash: undefined },
      { artifactHash: "" },
      { artifactHash: hex.slice(1) },
      { artifactHash: `${hex}0` },
      { artifactHash: hex.toUpperCase() },
      { artifactHash: `g${hex.slice(1)}` },
      { artifactHash: `sha256:${hex.slice(1)}` },
      { artifactHash: `SHA256:${hex}` },
      { artifactHash: `SHA-256:${hex}` },
      { artifactHash: `sha1:${hex.slice(24)}` },
      { artifactHash: `md5:${hex}` },
      { artifactHash: `sha512:${hex}${hex}` },
      { artifactHash: { alg: "SHA-256", hex } },
      { ciphertext: undefined },
      { ciphertext: "sealed" },
      { ciphertext: null },
      { ciphertext: [] },
      { ciphertext: { data: "ZGF0YQ" } },
      { ciphertext: { alg: "AES-256-GCM" } },
      { ciphertext: { ...ciphertext, alg: 1 } },
      { ciphertext: { ...ciphertext, alg: null } },
      { ciphertext: { ...ciphertext, data: "" } },
      { ciphertext: { ...ciphertext, data: 1 } },
      { ciphertext: { ...ciphertext, nonce: 1 } },
      { ciphertext: { ...ciphertext, tag: {} } },
      { ciphertext: { ...ciphertext, aad: false } },
      { ciphertext: { ...ciphertext, kind: "inline" } },
      { metadata: "text" },
      { metadata: [] },
      { metadata: [] },
      { expiresAt: undefined },
    ];
    for (const members of wrong) {
      const artifact = enforcer.artifact();
      const envelope = { ...artifact, body: withMembers(artifact.body, members) };
      await refused(enforcer, "/v1/artifacts", envelope);
      refusal(await enforcer.get(`/v1/exchanges/${artifact.requestId}`), 404, "ExchangeNotFound");
    }
  });

  test("HARP-86, HARP-87, HARP-122, HARP-124 a decision with an invalid body returns 400", async () => {
    // Given a decision whose body is wrong in any way, when it is sent, then it is 400 and the exchange is still
    // pending.
    const submitted = await enforcer.submit();
    const wrong: Json[] = [
      { extra: 1 },
      { scope: "once" },
      { sigAlg: "Ed25519" },
      { decision: undefined },
      { decision: "allow" },
      { decision: "deny" },
      { decision: "Approve" },
      { decision: "" },
      { decision: true },
      { artifactHash: undefined },
      { artifactHash: "" },
      { artifactHash: 1 },
      { signerKeyId: undefined },
      { signerKeyId: "" },
      { signerKeyId: "x".repeat(129) },
      { nonce: undefined },
      { nonce: "" },
      { signature: undefined },
      { signature: "" },
      { signature: { alg: "none" } },
      { reason: 1 },
      { decisionHash: 1 },
      { decisionHash: [] },
    ];
    for (const members of wrong) {
      const decision = approver.decision(submitted);
      const envelope = { ...decision, body: withMembers(decision.body, members) };
      await refused(approver, "/v1/decisions", envelope);
    }
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
    // A remark may be long, and not longer.
    refusal(await approver.decide(submitted, { reason: "x".repeat(2049) }), 413, "PayloadTooLarge");
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
    accepted(await approver.decide(submitted, { reason: "x".repeat(2048) }), 200, "decision.accepted");
  });

  test("HARP-80, HARP-87 optional members that are null are absent, and are not passed on", async () => {
    const artifact = enforcer.artifact({ body: { metadata: null } });
    const { ciphertext } = artifact.body;
    Object.assign(artifact, { expiresAt: null, recipient: null, trace: null });
    Object.assign(artifact.body, { ciphertext: { ...ciphertext, aad: null, profile: null } });
    accepted(await enforcer.post("/v1/artifacts", artifact), 202, "artifact.accepted");
    const { envelope } = await approver.item(artifact.requestId);
    assert.equal("aad" in envelope.body.ciphertextRef, false);
    assert.equal(envelope.body.ciphertextRef.profile, null, "what HARP does not name goes through");
    const { requestId } = artifact;
    const decision = approver.decision({ requestId, artifactHash: artifact.body.artifactHash });
    Object.assign(decision.body, { reason: null, decisionHash: null });
    accepted(await approver.post("/v1/decisions", decision), 200, "decision.accepted");
    const delivered = accepted(await enforcer.wait(requestId), 200, "decision.deliver");
    assert.equal("reason" in delivered, false);
  });

  test("HARP-86, HARP-87 invalid bare pairing messages return 400", async () => {
    // Given bare messages of pairing that are wrong, when they are sent, then it is 400.
    const wrong: [Party, string, Json][] = [
      [enforcer, "initiate", {}],
      [enforcer, "initiate", { enforcerId: 1 }],
      [enforcer, "initiate", { enforcerId: enforcer.id, enforcerLabel: {} }],
      [enforcer, "initiate", { enforcerId: enforcer.id, publicKey: 1 }],
      [approver, "complete", {}],
      [approver, "complete", { nonce: "pn-x" }],
      [approver, "complete", { approverId: approver.id }],
      [approver, "complete", { nonce: 1, approverId: approver.id }],
    ];
    for (const [party, step, body] of wrong) {
      refusal(await party.post(`/v1/pairing/${step}`, body), 400, "ValidationError");
    }
  });
});

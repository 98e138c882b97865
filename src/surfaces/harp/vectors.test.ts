/**
 * The published messages of the gateway, played against it with their own clock, ids and secrets. What clients send is taken
 * as it stands; what the gateway says has everything that is published, perhaps more.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { principal, TestGateway } from "../../../test/support/gateway.ts";
import type { Hello } from "../../harp/core/wire.ts";
import { checker } from "../validate.ts";
import { readAck, readArtifact, readDecision } from "./read.ts";
import { Hello as HelloFrame, PairingComplete, PairingInitiate } from "./schemas.ts";

const tenant = "tenant-vectors";
const enforcer = principal("enforcer", "enf-01", tenant);
const approver = principal("approver", "app-01", tenant);
const requestId = "req-u6s2nku4oo";
const artifactHash = "sha256:fe94a9a087129947cc76a6749363bff39e0dcfd64398906bb3123df38913b2a9";

const artifactSubmit = {
  msgType: "artifact.submit",
  requestId,
  createdAt: "2026-02-24T10:00:00Z",
  sender: { enforcerId: "enf-01" },
  body: {
    artifactType: "core.artifact",
    artifactHash,
    ciphertext: { alg: "XChaCha20-Poly1305", data: "BASE64_CIPHERTEXT_PLACEHOLDER" },
    metadata: { routingToken: "rt-opaque-abc123", workspaceName: "airlock", repoName: "harp-spec" },
    expiresAt: "2026-02-24T10:10:00Z",
  },
};

/** Without the hint about the user interface, which carries no authority and is left out. */
const approvalRequest = {
  msgId: "msg-87fxyntx85",
  msgType: "approval.request",
  requestId,
  createdAt: "2026-02-24T10:00:01Z",
  expiresAt: "2026-02-24T10:10:00Z",
  sender: { gatewayId: "gw-01" },
  recipient: { approverId: "app-01" },
  body: {
    artifactType: "core.artifact",
    artifactHash,
    ciphertextRef: { kind: "inline", data: "BASE64_CIPHERTEXT_PLACEHOLDER" },
    metadata: { workspaceName: "airlock", repoName: "harp-spec" },
  },
};

const decisionSubmit = {
  msgType: "decision.submit",
  requestId,
  createdAt: "2026-02-24T10:01:00Z",
  sender: { approverId: "app-01" },
  body: {
    artifactHash,
    decision: "approve",
    reason: "Looks good",
    signerKeyId: "key-approver-01",
    nonce: "nonce-0001",
    signature: "BASE64_SIGNATURE_PLACEHOLDER",
    decisionHash: "sha256:d8e6adf8219a5b988eeff2d3e39411b7af23cba5e271078767747dbbae856650",
  },
};

const decisionDeliver = {
  msgId: "msg-x589nr37xc",
  msgType: "decision.deliver",
  requestId,
  createdAt: "2026-02-24T10:01:01Z",
  expiresAt: "2026-02-24T10:10:00Z",
  sender: { gatewayId: "gw-01" },
  recipient: { enforcerId: "enf-01" },
  body: decisionSubmit.body,
};

const ackSubmit = {
  msgType: "ack.submit",
  requestId,
  createdAt: "2026-02-24T10:01:02Z",
  sender: { enforcerId: "enf-01" },
  body: { msgId: "msg-x589nr37xc", status: "processed", ackAt: "2026-02-24T10:01:02Z" },
};

const exchangeWithdrawn = {
  msgType: "exchange.withdrawn",
  requestId,
  createdAt: "2026-02-24T10:03:00Z",
  sender: { gatewayId: "gw-01" },
  body: {
    state: "Withdrawn",
    withdrawnAt: "2026-02-24T10:03:00Z",
    reason: "Enforcer-initiated withdrawal",
  },
};

const hello = {
  msgType: "hello",
  capabilities: { push: true, poll: false, sse: false },
  workspaceName: "airlock",
  enforcerLabel: "Antigravity",
};

const refreshRequest = {
  msgType: "refresh.request",
  requestId,
  createdAt: "2026-02-24T10:12:00Z",
  sender: { gatewayId: "gw-01" },
  body: { reason: "Approver requested refresh for expired artifact" },
};

const presence = [
  {
    enforcerDeviceId: "enf-01",
    status: "online",
    lastSeenAt: "2026-02-24T10:00:00Z",
    transport: "websocket",
    workspaceName: "airlock",
    enforcerLabel: "Antigravity",
    capabilities: { push: true },
  },
  {
    enforcerDeviceId: "enf-02",
    status: "offline",
    lastSeenAt: "2026-02-24T09:45:00Z",
    transport: "poll",
  },
];

const pairing = {
  initiate: {
    enforcerId: "enf-01",
    enforcerLabel: "Antigravity",
    workspaceName: "airlock",
    publicKey: "BASE64URL_PUBLIC_KEY_PLACEHOLDER",
  },
  initiated: { code: "A1B2C3", nonce: "nonce-xyz789", expiresAt: "2026-02-24T10:10:00Z" },
  resolved: {
    nonce: "nonce-xyz789",
    enforcerLabel: "Antigravity",
    workspaceName: "airlock",
    publicKey: "BASE64URL_PUBLIC_KEY_PLACEHOLDER",
  },
  complete: {
    nonce: "nonce-xyz789",
    approverId: "app-01",
    publicKey: "BASE64URL_APPROVER_PUBLIC_KEY_PLACEHOLDER",
  },
  completed: { routingToken: "rt-opaque-abc123", enforcerLabel: "Antigravity", workspaceName: "airlock" },
};

/** Everything that is published is there; times are equal as points in time. */
function assertHolds(actual: unknown, published: unknown, at = "$"): void {
  if (typeof published === "object" && published !== null) {
    const members: Record<string, unknown> = Object(actual);
    for (const [name, value] of Object.entries(published)) assertHolds(members[name], value, `${at}.${name}`);
  } else if (typeof published === "string" && /^\d{4}-\d\d-\d\dT/.test(published)) {
    assert.equal(Date.parse(String(actual)), Date.parse(published), at);
  } else {
    assert.equal(actual, published, at);
  }
}

class Vectors implements AsyncDisposable {
  readonly test: TestGateway;
  /** Ids for the next messages; after these, any. */
  readonly ids: string[];

  private constructor(test: TestGateway, ids: string[]) {
    this.test = test;
    this.ids = ids;
  }

  static async open(): Promise<Vectors> {
    const ids: string[] = [];
    let others = 0;
    const test = await TestGateway.open({
      at: "2026-02-24T10:00:00Z",
      newId: (prefix) => (prefix === "msg" ? ids.shift() : undefined) ?? `${prefix}-${++others}`,
      settings: { gatewayId: "gw-01" },
      secrets: {
        code: () => pairing.initiated.code,
        nonce: () => pairing.initiated.nonce,
        token: () => pairing.completed.routingToken,
      },
    });
    return new Vectors(test, ids);
  }

  /** The tenth vector, which leads to the token in the first. */
  async pair(): Promise<void> {
    const { gateway } = this.test;
    const initiate = checker(PairingInitiate)(pairing.initiate);
    assertHolds(await gateway.initiatePairing(enforcer, initiate), pairing.initiated);
    assertHolds(await gateway.resolvePairing(approver, pairing.initiated.code), pairing.resolved);
    const complete = checker(PairingComplete)(pairing.complete);
    assertHolds(await gateway.completePairing(approver, complete), pairing.completed);
  }

  async submit(): Promise<void> {
    this.test.moveTo(approvalRequest.createdAt);
    this.ids.push(approvalRequest.msgId);
    await this.test.gateway.submitArtifact(enforcer, readArtifact(artifactSubmit, this.test.nowMs));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.test[Symbol.asyncDispose]();
  }
}

test("HARP-97, HARP-72, HARP-80 accepts the published exchange and answers as published", async () => {
  // Given the published messages of an exchange, when they are played, then each is accepted, and what the gateway says
  // is what was published.
  await using vectors = await Vectors.open();
  const { test, ids } = vectors;
  const { gateway } = test;
  await vectors.pair();
  const [sent, received] = [
    await test.channel("approver", "app-01", tenant),
    await test.channel("enforcer", "enf-01", tenant),
  ];
  await vectors.submit();
  assertHolds((await sent.untilTold(1))[0], approvalRequest);

  test.moveTo(decisionDeliver.createdAt);
  ids.push(decisionDeliver.msgId);
  await gateway.submitDecision(approver, readDecision(decisionSubmit, test.nowMs));
  const [delivered] = await received.untilTold(1);
  assertHolds(delivered, decisionDeliver);
  assert.deepEqual(delivered?.body, decisionSubmit.body);

  test.moveTo(ackSubmit.createdAt);
  await gateway.acknowledge(enforcer, readAck(ackSubmit, test.nowMs));
  assert.equal(await test.state(requestId, enforcer), "delivered");
});

test("HARP-97, HARP-96 withdrawing the published artifact notifies both sides as published", async () => {
  // Given the published artifact, when it is withdrawn, then both sides hear what was published.
  await using vectors = await Vectors.open();
  const { test } = vectors;
  await vectors.pair();
  await vectors.submit();
  const channel = await test.channel("approver", "app-01", tenant);
  await channel.untilTold(1);
  test.moveTo(exchangeWithdrawn.createdAt);
  assertHolds(await test.gateway.withdraw(enforcer, requestId), exchangeWithdrawn);
  assertHolds((await channel.untilTold(2))[1], exchangeWithdrawn);
});

test("HARP-97, HARP-92 a request for the expired artifact tells the enforcer what is published", async () => {
  // Given the published artifact, when it has expired and its approver asks for it again, then the enforcer hears what
  // was published.
  await using vectors = await Vectors.open();
  const { test } = vectors;
  await vectors.pair();
  await vectors.submit();
  const channel = await test.channel("enforcer", "enf-01", tenant);
  test.moveTo(refreshRequest.createdAt);
  await test.gateway.refresh(approver, requestId, "enf-01");
  assertHolds((await channel.untilTold(1))[0], refreshRequest);
  assert.equal(await test.state(requestId, enforcer), "expired");
});

test("HARP-97, HARP-69 presence of a new and a long silent enforcer is as published", async () => {
  // Given an enforcer that says the published hello and one that was silent for a quarter of an hour, when presence is
  // asked for, then it is what was published.
  await using vectors = await Vectors.open();
  const { test } = vectors;
  const { gateway } = test;
  test.moveTo("2026-02-24T09:45:00Z");
  await gateway.heardFrom(principal("enforcer", "enf-02", tenant));
  test.moveTo("2026-02-24T10:00:00Z");
  const { channel } = await test.channel("enforcer", "enf-01", tenant);
  const { msgType, capabilities = {}, ...labels } = checker(HelloFrame)(hello);
  assert.equal(msgType, "hello");
  const introduction: Omit<Hello, "msgType"> = { capabilities, ...labels };
  if (channel !== null) gateway.introduce(channel, introduction);
  const found = await gateway.presenceIn(approver, tenant);
  assertHolds(found, presence);
  assert.equal(found.length, 2);
});

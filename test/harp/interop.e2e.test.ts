/** Bridle's enforcer with an approver that was written apart from it, and Bridle's approver with such an enforcer. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bundleOf, generateApproverKeys } from "../../src/harp/core/keys.ts";
import { Approver } from "../../src/sdk/approver/approver.ts";
import { ApprovalStage } from "../support/approvals.ts";
import { type Json, until } from "../support/client.ts";
import { ForeignApprover, ForeignEnforcer } from "../support/foreign-harp.ts";

let stage: ApprovalStage;
before(async () => {
  stage = await ApprovalStage.open();
});
after(() => stage[Symbol.asyncDispose]());

/** A call to the gateway as anybody could make it. */
async function harp(key: string, path: string, body?: object): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${stage.server.url}/harp${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/harp+json",
      "x-harp-version": "0.2",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

test("HARP-128 Bridle's enforcer accepts a foreign approver's decisions and nothing else", async () => {
  // Given an approver of another make, when it pairs, opens and signs, then Bridle's enforcer takes its decisions and
  // nothing else.
  const { key } = await stage.client.createKey({ scopes: ["harp:approver:foreign"] });
  const approver = new ForeignApprover();
  const begun = await stage.client.post("/v1/approvals/pairings", {});
  const resolved = await harp(key, `/v1/pairing/resolve/${begun.body.code}`);
  const completion = { nonce: resolved.body.nonce, approverId: "foreign", publicKey: approver.bundle };
  assert.equal((await harp(key, "/v1/pairing/complete", completion)).status, 200);
  const { fingerprint } = approver;
  const confirmed = await stage.client.post(`/v1/approvals/pairings/${begun.body.nonce}/confirm`, {
    fingerprint,
  });
  assert.equal(confirmed.body.signer_key_id, approver.signerKeyId, JSON.stringify(confirmed.body));

  const persona = await stage.persona({ channel: "harp", approvers: ["foreign"] });
  for (const [verdict, status] of [
    ["allow", "COMPLETED"],
    ["deny", "FAILED"],
  ] as const) {
    const task = await stage.task(persona, "from elsewhere");
    const [item] = await until(
      async () => (await harp(key, "/v1/approvers/foreign/inbox")).body.body.items,
      (items) => items.length > 0,
    );
    const artifact = approver.open(item.envelope.body);
    assert.equal(artifact.payload.task, task.id);
    const submitted = await harp(key, "/v1/decisions", {
      msgType: "decision.submit",
      requestId: item.requestId,
      createdAt: new Date().toISOString(),
      sender: { approverId: "foreign" },
      body: approver.decide(artifact, verdict),
    });
    assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
    assert.equal((await stage.ended(task)).status, status);
    assert.equal(stage.deploysOf(task), verdict === "allow" ? 1 : 0);
  }
});

test("HARP-128 Bridle's approver opens a foreign enforcer's request and signs it validly", async () => {
  // Given an enforcer of another make, when it seals and asks, then Bridle's approver opens, signs, and the enforcer
  // finds its signature right.
  const [asking, answering] = [
    (await stage.client.createKey({ scopes: ["harp:enforcer:foreign"] })).key,
    (await stage.client.createKey({ scopes: ["harp:approver:dora"] })).key,
  ];
  const keys = await generateApproverKeys(new Date());
  const approver = new Approver({
    url: `${stage.server.url}/harp`,
    key: answering,
    approverId: "dora",
    keys,
  });
  const initiated = await harp(asking, "/v1/pairing/initiate", {
    enforcerId: "foreign",
    enforcerLabel: "Elsewhere",
  });
  const offer = await approver.pair(initiated.body.code);
  assert.equal(offer.enforcerLabel, "Elsewhere");
  await offer.complete();
  const { body: paired } = await harp(asking, `/v1/pairing/${initiated.body.nonce}/status`);
  assert.equal(paired.publicKey, bundleOf(keys));

  const enforcer = new ForeignEnforcer();
  const { artifact, body } = enforcer.ask("req-foreign-1", { command: "rm -rf /tmp/x" }, paired.publicKey);
  const submitted = await harp(asking, "/v1/artifacts", {
    msgType: "artifact.submit",
    requestId: "req-foreign-1",
    createdAt: new Date().toISOString(),
    sender: { enforcerId: "foreign" },
    body: { ...body, metadata: { routingToken: paired.routingToken } },
  });
  assert.equal(submitted.status, 202, JSON.stringify(submitted.body));
  const request = await approver.get("req-foreign-1");
  assert.ok(request !== null && "artifact" in request);
  assert.deepEqual(request.artifact.payload, { command: "rm -rf /tmp/x" });
  await approver.approve(request, { reason: "fine" });
  const { body: delivered } = await harp(asking, "/v1/exchanges/req-foreign-1/wait?timeout=10");
  assert.ok(enforcer.isSigned(artifact, delivered.body, paired.publicKey));
  assert.ok(!enforcer.isSigned({ ...artifact, repoRef: "repo:other" }, delivered.body, paired.publicKey));
});

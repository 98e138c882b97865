/** An enforcer in the same process: what it submits and hears, as over a wire. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { principal, TestGateway, tenantId } from "../../../test/support/gateway.ts";
import { embeddedLink } from "./embedded-link.ts";

const enforcer = { tenantId, enforcerId: "enf", enforcerLabel: "Bridle", workspaceName: "w" };

test("HARP-63, HARP-77, HARP-78 an embedded enforcer gets messages until it acknowledges them", async () => {
  // Given an enforcer in the process, when it reads its messages, then it has those that waited and those that come,
  // again until it acknowledges them.
  await using test = await TestGateway.open();
  const approver = await test.approver("app");
  const link = embeddedLink(test.gateway, enforcer);
  const submitted = test.artifact("r1");
  assert.equal((await link.submit(submitted)).body.state, "pendingApproval");
  // What it holds is not what is kept.
  submitted.body.ciphertext.data = "changed";
  await test.gateway.submitDecision(approver, test.decision("r1", "app"));

  const done = new AbortController();
  const messages = link.messages(done.signal)[Symbol.asyncIterator]();
  const { value: first } = await messages.next();
  assert.deepEqual([first?.requestId, first?.msgType], ["r1", "decision.deliver"]);
  assert.equal((await link.status("r1"))?.body.state, "decided");
  await link.acknowledge("r1", first?.msgId ?? "", "processed");
  assert.equal((await link.status("r1"))?.body.state, "delivered");

  await link.submit(test.artifact("r2"));
  await test.gateway.submitDecision(approver, test.decision("r2", "app"));
  const { value: second } = await messages.next();
  assert.equal(second?.requestId, "r2");
  const waiting = messages.next();
  done.abort();
  assert.equal((await waiting).done, true);

  const again = link.messages(new AbortController().signal)[Symbol.asyncIterator]();
  assert.equal((await again.next()).value?.msgId, second?.msgId, "it was not acknowledged");
  await again.return?.();
});

test("HARP-69, HARP-92 an embedded enforcer is online and refreshable only while it reads", async () => {
  // Given an enforcer in the process that reads its messages, when others look, then it is online and can be asked
  // again; afterwards it is not.
  await using test = await TestGateway.open();
  const approver = await test.approver("app");
  const link = embeddedLink(test.gateway, enforcer);
  await link.submit(test.artifact("r1"));
  const messages = link.messages(new AbortController().signal)[Symbol.asyncIterator]();
  const waiting = messages.next();
  const presence = () => test.gateway.presenceOf(approver, "enf");
  test.moveBy(60 * 60_000);
  await test.gateway.tick();
  const { status, enforcerLabel, workspaceName } = await presence();
  assert.deepEqual([status, enforcerLabel, workspaceName], ["online", "Bridle", "w"]);
  await test.gateway.refresh(approver, "r1", "enf");
  assert.equal((await waiting).value?.msgType, "refresh.request");
  await messages.return?.();
  assert.equal((await presence()).status, "offline");
});

test("an embedded enforcer gets null for unknown ids, and its token routes until revoked", async () => {
  // Given an enforcer in the process, when it asks for what is not there, withdraws, pairs and revokes, then it hears
  // null, and its token routes until it is revoked.
  await using test = await TestGateway.open();
  const link = embeddedLink(test.gateway, enforcer);
  assert.equal(await link.status("nowhere"), null);
  assert.equal(await link.pairing("nowhere"), null);
  const approver = principal("approver", "app");
  const { code, nonce } = await link.initiatePairing({ publicKey: "key" });
  const { enforcerLabel } = await test.gateway.resolvePairing(approver, code);
  assert.equal(enforcerLabel, "Bridle");
  await test.gateway.completePairing(approver, { nonce, approverId: "app" });
  const routingToken = (await link.pairing(nonce))?.routingToken ?? "";
  await link.submit(test.artifact("r1", { metadata: { routingToken } }));
  await link.withdraw("r1");
  assert.equal((await link.status("r1"))?.body.state, "withdrawn");
});

test("an embedded enforcer's reading fails when the gateway ends", async () => {
  // Given an enforcer in the process that waits for messages, when the gateway ends, then its reading ends with an
  // error.
  await using test = await TestGateway.open();
  const link = embeddedLink(test.gateway, enforcer);
  const waiting = link.messages(new AbortController().signal)[Symbol.asyncIterator]().next();
  await test.gateway.tick();
  test.gateway.channels.closeAll();
  await assert.rejects(waiting, /ended this channel/);
});

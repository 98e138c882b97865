/** Pairing: who may do which step, how often, and until when. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { principal, refusalOf, TestGateway, tenantId } from "../../../test/support/gateway.ts";

const enforcer = principal("enforcer", "enf");
const approver = principal("approver", "app");
const minuteMs = 60_000;

async function initiate(test: TestGateway) {
  return await test.gateway.initiatePairing(enforcer, { enforcerId: "enf", enforcerLabel: "Laptop" });
}

async function pair(test: TestGateway): Promise<{ nonce: string; routingToken: string }> {
  const { code, nonce } = await initiate(test);
  await test.gateway.resolvePairing(approver, code);
  const { routingToken } = await test.gateway.completePairing(approver, { nonce, approverId: "app" });
  return { nonce, routingToken };
}

test("HARP-72 pairing gives both sides a token that routes to that approver alone", async () => {
  // Given an enforcer and an approver, when they pair, then both have the token, and it routes the next artifact to that
  // approver alone.
  await using test = await TestGateway.open();
  await test.approver("somebody-else");
  const { code, nonce } = await initiate(test);
  const status = () => test.gateway.pairingStatus(enforcer, nonce);
  assert.equal((await status()).state, "initiated");
  const resolved = await test.gateway.resolvePairing(approver, code);
  assert.deepEqual(
    { ...resolved, expiresAt: "" },
    { nonce, enforcerId: "enf", enforcerLabel: "Laptop", expiresAt: "" },
  );
  assert.equal((await status()).state, "resolved");
  const request = { nonce, approverId: "app", publicKey: "key" };
  const { routingToken, enforcerLabel } = await test.gateway.completePairing(approver, request);
  assert.equal(enforcerLabel, "Laptop");
  const { expiresAt, completedAt, ...known } = await status();
  assert.deepEqual(known, {
    nonce,
    state: "completed",
    approverId: "app",
    publicKey: "key",
    routingToken,
  });
  await test.gateway.submitArtifact(enforcer, test.artifact("r1", { metadata: { routingToken } }));
  assert.deepEqual(await test.inbox("app"), ["r1"]);
  assert.deepEqual(await test.inbox("somebody-else"), []);
});

test("HARP-73 an expired code or pairing is not found and gives no token", async () => {
  // Given a code or a pairing whose time is over, when it is resolved or completed, then it is not there, and no token
  // comes of it.
  await using test = await TestGateway.open();
  const [late, resolved] = [await initiate(test), await initiate(test)];
  await test.gateway.resolvePairing(approver, resolved.code);
  test.moveBy(10 * minuteMs + 1);
  assert.equal(await refusalOf(test.gateway.resolvePairing(approver, late.code)), "PairingNotFound");
  const complete = test.gateway.completePairing(approver, { nonce: resolved.nonce, approverId: "app" });
  assert.equal(await refusalOf(complete), "PairingNotFound");
  const status = await test.gateway.pairingStatus(enforcer, resolved.nonce);
  assert.deepEqual([status.state, status.routingToken], ["expired", undefined]);
});

test("HARP-74 a code resolves once and a pairing completes once, even concurrently", async () => {
  // Given a code that was resolved and a pairing that was completed, when either is done again, also at the same time,
  // then once is all.
  await using test = await TestGateway.open();
  const { code, nonce } = await initiate(test);
  const resolutions = await Promise.all(
    Array.from({ length: 5 }, () => refusalOf(test.gateway.resolvePairing(approver, code))),
  );
  assert.equal(resolutions.filter((found) => found === "PairingNotFound").length, 4);
  const completions = await Promise.all(
    Array.from({ length: 5 }, () =>
      refusalOf(test.gateway.completePairing(approver, { nonce, approverId: "app" })),
    ),
  );
  assert.equal(completions.filter((found) => found === "PairingCompletedConflict").length, 4);
  test.moveBy(60 * minuteMs);
  const again = test.gateway.completePairing(approver, { nonce, approverId: "app" });
  assert.equal(await refusalOf(again), "PairingCompletedConflict", "also when its time is over");
});

test("HARP-74, HARP-102 a pairing of others is not found", async () => {
  // Given a pairing of others, when somebody else resolves, completes or looks at it, then it is not there.
  await using test = await TestGateway.open();
  const { code, nonce } = await initiate(test);
  const stranger = principal("approver", "app", "tenant-b");
  assert.equal(await refusalOf(test.gateway.resolvePairing(stranger, code)), "PairingNotFound");
  await test.gateway.resolvePairing(approver, code);
  const other = principal("approver", "other");
  const complete = test.gateway.completePairing(other, { nonce, approverId: "other" });
  assert.equal(await refusalOf(complete), "PairingNotFound", "only who resolved it");
  const forSomebody = test.gateway.completePairing(approver, { nonce, approverId: "other" });
  assert.equal(await refusalOf(forSomebody), "Forbidden");
  assert.equal(await refusalOf(test.gateway.pairingStatus(approver, nonce)), "Forbidden");
  const colleague = principal("enforcer", "colleague");
  assert.equal(await refusalOf(test.gateway.pairingStatus(colleague, nonce)), "PairingNotFound");
});

test("HARP-75 codes are unique and have eight unambiguous characters", async () => {
  // Given many codes, when they are looked at, then each has eight characters that cannot be mistaken, and none is there
  // twice.
  await using test = await TestGateway.open();
  const codes = new Set<string>();
  for (let count = 0; count < 200; count++) codes.add((await initiate(test)).code);
  assert.equal(codes.size, 200);
  for (const code of codes) assert.match(code, /^[A-HJ-NP-Z2-9]{8}$/);
});

test("HARP-75 each pairing has its own code even when a code is drawn twice", async () => {
  // Given codes that are drawn twice, when pairings are initiated, then each has one of its own.
  const drawn = ["AAAAAAAA", "AAAAAAAA", "BBBBBBBB"];
  await using test = await TestGateway.open({ secrets: { code: () => drawn.shift() ?? "" } });
  assert.deepEqual([(await initiate(test)).code, (await initiate(test)).code], ["AAAAAAAA", "BBBBBBBB"]);
});

test("HARP-76 a foreign, revoked or mixed-in token routes nothing and asks nobody else", async () => {
  // Given a token, when another enforcer or tenant brings it, or it was revoked, or it is among others that are good,
  // then it routes nothing and nobody else is asked.
  await using test = await TestGateway.open();
  const { routingToken } = await pair(test);
  const good = (await pair(test)).routingToken;
  const submit = (as: typeof enforcer, token: unknown, requestId: string) =>
    test.gateway.submitArtifact(
      as,
      test.artifact(requestId, { metadata: { routingToken: token } }, { sender: { enforcerId: as.id } }),
    );
  const other = principal("enforcer", "other");
  assert.equal(await refusalOf(submit(other, routingToken, "r1")), "NoApproverAvailable");
  const elsewhere = principal("enforcer", "enf", "tenant-b");
  assert.equal(await refusalOf(submit(elsewhere, routingToken, "r2")), "NoApproverAvailable");
  assert.equal(await refusalOf(test.gateway.revokePairing(other, { routingToken })), "PairingNotFound");
  await test.gateway.revokePairing(enforcer, { routingToken });
  await test.gateway.revokePairing(enforcer, { routingToken });
  assert.equal(await refusalOf(submit(enforcer, routingToken, "r3")), "PairingRevoked");
  assert.equal(await refusalOf(submit(enforcer, [good, routingToken], "r4")), "PairingRevoked");
  assert.equal(await refusalOf(submit(enforcer, [], "r5")), "NoApproverAvailable");
  assert.equal(await refusalOf(submit(enforcer, [1], "r6")), "ValidationError");
  await submit(enforcer, [good, good], "r7");
  assert.deepEqual(await test.inbox("app"), ["r7"]);
});

test("HARP-76 an approver revokes every pairing with an enforcer, and the status shows no dead token", async () => {
  await using test = await TestGateway.open();
  const [first, second] = [await pair(test), await pair(test)];
  const byName = () =>
    test.gateway.submitArtifact(enforcer, test.artifact("r1", {}, { recipient: { approverId: "app" } }));
  const stranger = test.gateway.revokePairing(principal("approver", "other"), { enforcerId: "enf" });
  assert.equal(await refusalOf(stranger), "PairingNotFound");
  await test.gateway.revokePairing(approver, { routingToken: first.routingToken });
  const status = await test.gateway.pairingStatus(enforcer, first.nonce);
  assert.deepEqual([status.state, status.routingToken], ["revoked", undefined]);
  assert.ok(status.revokedAt);
  assert.equal((await test.gateway.pairingStatus(enforcer, second.nonce)).state, "completed");
  await test.gateway.revokePairing(approver, { enforcerId: "enf" });
  assert.equal((await test.gateway.pairingStatus(enforcer, second.nonce)).state, "revoked");
  assert.equal(await refusalOf(byName()), "PairingRevoked");
  await pair(test);
  await byName();
});

test("HARP-75 a code is found however it is typed", async () => {
  await using test = await TestGateway.open();
  const { code } = await initiate(test);
  const typed = `${code.slice(0, 4)}-${code.slice(4)} `.toLowerCase();
  assert.equal((await test.gateway.resolvePairing(approver, typed)).enforcerId, "enf");
});

test("a sweep deletes old pairings and their codes while their tokens still route", async () => {
  // Given pairings that are long over, when they are swept, then neither they nor their codes are left, and tokens still
  // route.
  await using test = await TestGateway.open();
  const { nonce, routingToken } = await pair(test);
  await initiate(test);
  test.moveBy(26 * 60 * minuteMs);
  await test.gateway.tick();
  assert.equal(await refusalOf(test.gateway.pairingStatus(enforcer, nonce)), "PairingNotFound");
  for (const kind of ["pairing", "pairing_code"]) assert.equal(await test.store.of(tenantId).count(kind), 0);
  await test.gateway.submitArtifact(enforcer, test.artifact("r1", { metadata: { routingToken } }));
  assert.deepEqual(await test.inbox("app"), ["r1"]);
});

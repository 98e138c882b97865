/** Who is let in, to what, how much at once and how often: credentials, roles, tenants, sizes and rates. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Answer } from "../support/client.ts";
import {
  accepted,
  callHarp,
  fresh,
  type Gateway,
  type Party,
  refusal,
  startGateway,
  type Tenant,
} from "../support/harp.ts";
import { ssePath } from "../support/harp-channels.ts";

let gateway: Gateway;
let tenant: Tenant;
let enforcer: Party;
let approver: Party;

before(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
  ({ enforcer, approver } = tenant);
});
after(() => gateway[Symbol.asyncDispose]());

/** Every endpoint but the open one. */
function endpoints(requestId: string): [string, string][] {
  return [
    ["POST", "/v1/artifacts"],
    ["POST", "/v1/decisions"],
    ["GET", `/v1/approvers/${approver.id}/inbox`],
    ["GET", `/v1/approvers/${approver.id}/inbox/expired`],
    ["DELETE", `/v1/approvers/${approver.id}/inbox/${requestId}`],
    ["GET", `/v1/exchanges/${requestId}`],
    ["GET", `/v1/exchanges/${requestId}/wait?timeout=1`],
    ["POST", `/v1/exchanges/${requestId}/withdraw`],
    ["POST", `/v1/exchanges/${requestId}/refresh`],
    ["POST", `/v1/requests/${requestId}/refresh?enforcerDeviceId=${enforcer.id}`],
    ["GET", `/v1/presence/enforcers?tenantId=${tenant.id}`],
    ["GET", `/v1/presence/enforcers/${enforcer.id}`],
    ["POST", "/v1/pairing/initiate"],
    ["GET", "/v1/pairing/resolve/ABCDEFGH"],
    ["GET", "/v1/pairing/pn-unknown/status"],
    ["GET", "/v1/pairing/status/pn-unknown"],
    ["POST", "/v1/pairing/complete"],
    ["POST", "/v1/acks"],
    ["GET", `/v1/enforcers/${enforcer.id}/inbox`],
    ["GET", ssePath(approver)],
    ["GET", ssePath(enforcer)],
  ];
}

describe("Credentials", () => {
  test("HARP-101 missing or wrong credentials return 401 on every endpoint, even with bad JSON", async () => {
    // Given no credentials or wrong ones, when any endpoint is called, with a body that is no JSON, then it is 401 and
    // nothing happened.
    const { requestId } = await enforcer.submit();
    const schemes = [
      undefined,
      "Bearer ",
      "Bearer wrong",
      `Basic ${btoa("a:b")}`,
      `Bearer ${enforcer.key}x`,
      enforcer.key,
    ];
    for (const [n, [method, path]] of endpoints(requestId).entries()) {
      const authorization = schemes[n % schemes.length];
      const answer = await callHarp(gateway.base, path, {
        method,
        headers: { authorization },
        ...(method === "POST" ? { raw: "{ no JSON" } : {}),
      });
      const { message } = refusal(answer, 401, "Unauthenticated");
      assert.ok(!message.includes(enforcer.key));
    }
    assert.equal(await enforcer.state(requestId), "pendingApproval");
    assert.equal((await approver.item(requestId)).status, "Pending");
  });

  test("HARP-101 missing credentials return 401 before a wrong media type or an oversized body", async () => {
    // Given no credentials, when a body has the wrong type or is far too large, then it is still 401.
    const call = { method: "POST", headers: { "content-type": "text/plain" } };
    refusal(await callHarp(gateway.base, "/v1/artifacts", { ...call, raw: "x" }), 401, "Unauthenticated");
    const large = await callHarp(gateway.base, "/v1/artifacts", { raw: "x".repeat(100_000) });
    refusal(large, 401, "Unauthenticated");
  });

  test("HARP-101 given a key that was revoked, when it is used, then it is 401 at once", async () => {
    const created = await gateway.admin.createKey({ scopes: ["harp:approver:gone"], tenant_id: tenant.id });
    const path = "/v1/approvers/gone/inbox";
    accepted(await callHarp(gateway.base, path, { key: created.key }), 200, "inbox.page");
    await gateway.revokeKey(tenant.id, created.id);
    refusal(await callHarp(gateway.base, path, { key: created.key }), 401, "Unauthenticated");
  });
});

function assertKeptOut({ status }: Answer, what: string): void {
  assert.ok(status === 403 || status === 404, `${status} for ${what}`);
}

describe("Roles and tenants", () => {
  test("HARP-102 the other role of the same tenant gets 403 for what it may not do", async () => {
    // Given the other role of the same tenant, when it does what is not its to do, then it is 403.
    const submitted = await enforcer.submit();
    const artifact = { ...enforcer.artifact(), sender: approver.sender };
    refusal(await approver.post("/v1/artifacts", artifact), 403, "Forbidden");
    refusal(await approver.post("/v1/artifacts", enforcer.artifact()), 403, "Forbidden");
    const decision = { ...approver.decision(submitted), sender: enforcer.sender };
    refusal(await enforcer.post("/v1/decisions", decision), 403, "Forbidden");
    refusal(await enforcer.post("/v1/decisions", approver.decision(submitted)), 403, "Forbidden");
    refusal(await enforcer.get(`/v1/approvers/${approver.id}/inbox`), 403, "Forbidden");
    refusal(await approver.get(`/v1/enforcers/${enforcer.id}/inbox`), 403, "Forbidden");
    refusal(
      await enforcer.delete(`/v1/approvers/${approver.id}/inbox/${submitted.requestId}`),
      403,
      "Forbidden",
    );
    assertKeptOut(await enforcer.post(`/v1/exchanges/${submitted.requestId}/refresh`), "a refresh");
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
  });

  test("HARP-102 given a key without a part in HARP, when it is used, then it is 403", async () => {
    const { key } = await gateway.admin.createKey({ scopes: ["tasks:read"], tenant_id: tenant.id });
    for (const [method, path] of endpoints("unknown")) {
      const body = method === "POST" ? { body: {} } : {};
      const answer = await callHarp(gateway.base, path, { method, key, ...body });
      refusal(answer, 403, "Forbidden");
    }
  });

  test("HARP-102 an exchange of another tenant is answered like a missing one", async () => {
    // Given an exchange of one tenant, when another tenant asks for it, then the answer is that for one that does not
    // exist.
    const submitted = await enforcer.submit();
    const other = await gateway.tenant();
    const requests: ((requestId: string) => Promise<Answer>)[] = [
      (requestId) => other.enforcer.get(`/v1/exchanges/${requestId}`),
      (requestId) => other.approver.get(`/v1/exchanges/${requestId}`),
      (requestId) => other.enforcer.wait(requestId, 1),
      (requestId) => other.enforcer.withdraw(requestId),
      (requestId) => other.approver.post(`/v1/exchanges/${requestId}/refresh`),
      (requestId) => other.approver.decide({ ...submitted, requestId }),
      (requestId) => other.enforcer.acknowledge(requestId, "msg-1"),
    ];
    for (const request of requests) {
      const [there, nowhere] = [await request(submitted.requestId), await request(fresh("req"))];
      assert.equal(there.status, 404);
      assert.deepEqual(
        [there.status, there.body.body.code, there.body.body.message.replaceAll(submitted.requestId, "")],
        [
          nowhere.status,
          nowhere.body.body.code,
          nowhere.body.body.message.replaceAll(nowhere.body.requestId, ""),
        ],
      );
    }
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
  });

  test("HARP-102 two tenants use the same request, enforcer and approver ids independently", async () => {
    // Given two tenants, when both use the same ids for requests, enforcers and approvers, then neither notices the
    // other.
    const [enforcerId, approverId, requestId] = [fresh("enf"), fresh("app"), fresh("req")];
    const parties = [];
    for (let n = 0; n < 2; n++) {
      const tenantId = `tenant_${fresh("t")}`;
      const party = await gateway.enforcer(tenantId, enforcerId);
      parties.push({ party, judge: await gateway.approver(tenantId, approverId) });
    }
    const [one, two] = parties;
    assert.ok(one !== undefined && two !== undefined);
    const first = await one.party.submit({ requestId });
    const second = await two.party.submit({ requestId });
    assert.deepEqual([first.accepted.duplicate, second.accepted.duplicate], [false, false]);
    refusal(await two.judge.decide(first), 422, "ArtifactHashMismatch");
    accepted(await one.judge.decide(first), 200, "decision.accepted");
    assert.equal(await two.party.state(requestId), "pendingApproval");
    assert.deepEqual(await two.party.inbox(), []);
    assert.equal((await two.judge.item(requestId)).envelope.body.artifactHash, second.artifactHash);
  });

  test("HARP-102 foreign ids in paths get the same answer whether they exist or not", async () => {
    // Given ids in paths that are somebody else's, when they exist and when they do not, then the answer is the same.
    const other = await gateway.approver(tenant.id);
    const [real, made] = [
      await approver.get(`/v1/approvers/${other.id}/inbox`),
      await approver.get("/v1/approvers/x/inbox"),
    ];
    refusal(real, 403, "Forbidden");
    assert.deepEqual(real.body.body, made.body.body);
  });
});

const mebibyte = 1024 * 1024;

describe("Sizes", () => {
  test("HARP-103 an artifact over 3 MB or ciphertext over 2 MB returns 413 and stores nothing", async () => {
    // Given an artifact of more than three megabytes, or ciphertext of more than two, when it is sent, then it is 413
    // and nothing is stored.
    const artifact = enforcer.artifact();
    const padded = JSON.stringify(artifact) + " ".repeat(3 * mebibyte);
    refusal(await enforcer.call("/v1/artifacts", { raw: padded }), 413, "PayloadTooLarge");
    const data = "x".repeat(2_796_204);
    const sealed = enforcer.artifact({ body: { ciphertext: { alg: "a", data } } });
    const answer = await enforcer.post("/v1/artifacts", sealed);
    refusal(answer, 413, "PayloadTooLarge");
    for (const { requestId } of [artifact, sealed])
      refusal(await enforcer.get(`/v1/exchanges/${requestId}`), 404);
    await enforcer.submit({ body: { ciphertext: { alg: "a", data: data.slice(1) } } });
  });

  test("HARP-103 any other body over 64 KB returns 413 without effect", async () => {
    // Given any other body of more than 64 kilobytes, when it is sent, then it is 413 and nothing happened.
    const submitted = await enforcer.submit();
    const blank = " ".repeat(64 * 1024);
    const bodies: [Party, string, object][] = [
      [approver, "/v1/decisions", approver.decision(submitted)],
      [enforcer, "/v1/acks", enforcer.ackOf(submitted.requestId, "msg-1")],
      [enforcer, "/v1/pairing/initiate", { enforcerId: enforcer.id }],
      [approver, "/v1/pairing/complete", { nonce: "pn-x", approverId: approver.id }],
      [
        enforcer,
        `/v1/exchanges/${submitted.requestId}/withdraw`,
        enforcer.envelope("exchange.withdrawn", submitted.requestId, {}),
      ],
    ];
    for (const [party, path, body] of bodies) {
      refusal(await party.call(path, { raw: JSON.stringify(body) + blank }), 413, "PayloadTooLarge");
    }
    assert.equal(await enforcer.state(submitted.requestId), "pendingApproval");
  });
});

/** The HTTP binding: every endpoint with its answer, media types, versions, errors, and the messages that were published. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type Answer, type Json, until } from "../support/client.ts";
import {
  accepted,
  callHarp,
  fresh,
  type Gateway,
  type Party,
  pair,
  refusal,
  startGateway,
} from "../support/harp.ts";
import { openSse, openWs } from "../support/harp-channels.ts";

let gateway: Gateway;

before(async () => {
  gateway = await startGateway({ movable: true });
});
after(() => gateway[Symbol.asyncDispose]());

function bare({ status, body }: Answer, expected = 200): Json {
  assert.equal(status, expected, JSON.stringify(body));
  assert.equal(body.msgType, undefined, "bare, and no envelope");
  return body;
}

describe("Endpoints", () => {
  test("HARP-82, HARP-83 every endpoint returns its status and a complete envelope or body", async () => {
    // Given every endpoint, when it is called as it should be, then it answers with its status and its kind of body,
    // each envelope with all that it must have.
    const { id: tenantId, enforcer, approver } = await gateway.tenant();
    await using channel = await openWs(enforcer);
    await using stream = await openSse(approver);
    // 12 to 15: pairing.
    const routingToken = await pair(enforcer, approver);
    // 1, 6, 3: an artifact, its exchange, an inbox.
    const submitted = await enforcer.submit({ body: { metadata: { routingToken } } });
    const { requestId } = submitted;
    const status = await approver.get(`/v1/exchanges/${requestId}`);
    assert.equal(accepted(status, 200, "exchange.status").requestId, requestId);
    const page = await approver.get(`/v1/approvers/${approver.id}/inbox`);
    assert.equal(accepted(page, 200, "inbox.page").items.length, 1);
    assert.equal(page.body.requestId, "-");
    await stream.about(requestId, "approval.request");
    // 9, 9b: a refresh.
    const refresh = `/v1/requests/${requestId}/refresh?enforcerDeviceId=${enforcer.id}`;
    assert.deepEqual(bare(await approver.post(refresh)), { status: "forwarded" });
    assert.deepEqual(bare(await approver.post(`/v1/exchanges/${requestId}/refresh`)), {
      status: "forwarded",
    });
    for (let n = 0; n < 2; n++) await channel.about(requestId, "refresh.request");
    // 2, 7, 17, 16: a decision, and its delivery.
    const decision = await approver.decide(submitted);
    assert.equal(accepted(decision, 200, "decision.accepted").state, "decided");
    accepted(await enforcer.wait(requestId), 200, "decision.deliver");
    const own = await enforcer.get(`/v1/enforcers/${enforcer.id}/inbox`);
    const [item] = accepted(own, 200, "inbox.page").items;
    assert.equal(own.body.requestId, "-");
    accepted(await enforcer.acknowledge(requestId, item.msgId), 200, "ack.accepted");
    // 5, 8, 4: an item put away, a withdrawal, and what expired.
    const second = await enforcer.submit();
    const inbox = `/v1/approvers/${approver.id}/inbox`;
    assert.equal((await approver.delete(`${inbox}/${second.requestId}`)).status, 204);
    accepted(await enforcer.withdraw(second.requestId), 200, "exchange.withdrawn");
    accepted(await approver.get(`${inbox}/expired`), 200, "inbox.page");
    // 10, 11: presence.
    const records = bare(await approver.get(`/v1/presence/enforcers?tenantId=${tenantId}`));
    assert.equal(records.length, 1);
    assert.deepEqual(bare(await approver.get(`/v1/presence/enforcers/${enforcer.id}`)), records[0]);
  });

  test("HARP-82, HARP-127 public status declares version, level, algorithms and limits", async () => {
    // Given nobody in particular, when the status is asked for, then it declares version, level, algorithms, transports
    // and what it cannot prevent.
    const declaration = bare(await callHarp(gateway.base, "/v1/status"));
    assert.equal(declaration.harpVersion, "0.2");
    assert.match(declaration.conformanceLevel, /^(Core|Extended|Enterprise)$/);
    assert.ok(["Ed25519", "SHA-256"].every((name) => declaration.algorithms.includes(name)));
    assert.ok(Array.isArray(declaration.transport));
    assert.equal(typeof declaration.mTLS, "boolean");
    assert.ok(declaration.residualRisks.length > 0);
  });

  test("HARP-127 the gateway page documents trust boundaries and every remaining risk", () => {
    // Given the page about the gateway, when it is read, then it says what is trusted with what, and every risk that
    // remains.
    const page = readFileSync(new URL("../../docs/protocols/harp-gateway.md", import.meta.url), "utf8");
    const said = [
      /never does\*\* is authorize anything/,
      /signature, which the enforcer checks/,
      /compromised devices/i,
      /compromised enforcers/i,
      /misuse their own keys/,
      /tell from traffic/,
      /display metadata/,
      /see which enforcers are online/,
      /confirmed by its hash/,
    ];
    for (const words of said) assert.match(page.replaceAll(/\s+/g, " "), words);
  });

  test("HARP-83 given two envelopes of any kind, when their ids are compared, then they differ", async () => {
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit();
    const answers = [
      await enforcer.get(`/v1/exchanges/${submitted.requestId}`),
      await enforcer.get(`/v1/exchanges/${submitted.requestId}`),
      await approver.get(`/v1/approvers/${approver.id}/inbox`),
      await approver.get(`/v1/approvers/${approver.id}/inbox`),
      await approver.decide(submitted),
      await approver.get("/v1/exchanges/unknown"),
      await approver.get("/v1/exchanges/unknown"),
    ];
    const ids = answers.map(({ body }) => body.msgId);
    assert.equal(new Set(ids).size, ids.length);
  });

  test("HARP-88 ids that differ only in case are different requests and people", async () => {
    // Given ids that differ in case only, when they are used, then they are different requests and different people.
    const { id, enforcer } = await gateway.tenant();
    const name = fresh("Case");
    const [upper, lower] = [name, name.toLowerCase()];
    const approvers = [await gateway.approver(id, upper), await gateway.approver(id, lower)] as const;
    const recipient = { approverId: upper };
    const one = await enforcer.submit({ requestId: upper, envelope: { recipient } });
    const two = await enforcer.submit({ requestId: lower, envelope: { recipient } });
    assert.notEqual(one.artifactHash, two.artifactHash);
    assert.deepEqual(
      (await approvers[0].inbox()).map(({ requestId }) => requestId),
      [upper, lower],
    );
    assert.deepEqual(await approvers[1].inbox(), []);
    refusal(await approvers[1].decide(one), 403, "Forbidden");
    refusal(await approvers[1].get(`/v1/approvers/${upper}/inbox`), 403, "Forbidden");
    accepted(await approvers[0].decide(one), 200, "decision.accepted");
    assert.equal(await enforcer.state(lower), "pendingApproval");
  });

  test("HARP-92 a refresh of an expired request reaches its enforcer, or returns 503 if offline", async () => {
    // Given an expired request, when its approver asks for it anew, then the enforcer that is there hears of it; who is
    // not there is 503.
    const { id, enforcer, approver } = await gateway.tenant();
    const other = await gateway.enforcer(id);
    const { requestId } = await enforcer.submit();
    const path = (enforcerId: string) => `/v1/requests/${requestId}/refresh?enforcerDeviceId=${enforcerId}`;
    refusal(await approver.post(path(enforcer.id)), 503, "EnforcerOffline");
    refusal(await approver.post(`/v1/exchanges/${requestId}/refresh`), 503, "EnforcerOffline");
    refusal(await approver.post(`/v1/requests/${requestId}/refresh`), 400, "ValidationError");
    refusal(
      await approver.post(`/v1/requests/${requestId}/refresh?enforcerDeviceId=`),
      400,
      "ValidationError",
    );
    refusal(await approver.post(path(other.id)), 404);
    refusal(await approver.post(`/v1/requests/unknown/refresh?enforcerDeviceId=${enforcer.id}`), 404);
    refusal(await (await gateway.approver(`tenant_${fresh("t")}`)).post(path(enforcer.id)), 404);
    gateway.moveBy(3_600_000);
    for (const open of [openWs, openSse]) {
      await using channel = await open(enforcer);
      // The channel is there before the gateway has told everybody.
      const answer = await until(
        () => approver.post(path(enforcer.id)),
        ({ status }) => status === 200,
      );
      assert.deepEqual(bare(answer), { status: "forwarded" });
      const { recipient, body } = await channel.about(requestId, "refresh.request");
      if (recipient !== undefined) assert.deepEqual(recipient, { enforcerId: enforcer.id });
      assert.equal(typeof body.reason, "string");
    }
    assert.equal(await enforcer.state(requestId), "expired", "the exchange is as it was");
  });

  test("HARP-96 exchange states are in camelCase and a withdrawal returns Withdrawn", async () => {
    // Given exchanges in their states, when they are asked for, then states are in camelCase, and a withdrawal says
    // Withdrawn.
    const { enforcer, approver } = await gateway.tenant();
    const first = await enforcer.submit();
    assert.equal((await enforcer.status(first.requestId)).state, "pendingApproval");
    const { body } = (await enforcer.withdraw(first.requestId)).body;
    assert.equal(body.state, "Withdrawn");
    assert.equal((await approver.status(first.requestId)).state, "withdrawn");
  });

  test("HARP-85 paths outside HARP do not answer with its media type", async () => {
    // Given addresses that are not HARP's, when they are asked, then their answers are not of its media type.
    for (const path of [
      "/health",
      "/version",
      "/openapi.json",
      "/v1/api-keys",
      "/v1/agent-card",
      "/nowhere",
    ]) {
      const { headers } = await gateway.admin.get(path);
      assert.doesNotMatch(headers.get("content-type") ?? "", /harp/, path);
    }
  });
});

/** Everything that takes a body, with one that it would accept. */
async function posts(enforcer: Party, approver: Party): Promise<[Party, string, Json][]> {
  const submitted = await enforcer.submit();
  const delivered = await enforcer.submit();
  await approver.decide(delivered);
  const { msgId } = await enforcer.item(delivered.requestId);
  return [
    [enforcer, "/v1/artifacts", enforcer.artifact()],
    [approver, "/v1/decisions", approver.decision(submitted)],
    [enforcer, "/v1/acks", enforcer.ackOf(delivered.requestId, msgId)],
    [enforcer, "/v1/pairing/initiate", { enforcerId: enforcer.id }],
    [approver, "/v1/pairing/complete", { nonce: "pn-unknown", approverId: approver.id }],
  ];
}

describe("Media types", () => {
  test("HARP-86 a body of another media type returns 415 without effect", async () => {
    // Given bodies of another media type, when they are sent, then it is 415 and nothing happened.
    const { enforcer, approver } = await gateway.tenant();
    const types = ["application/jsonl", "text/plain", "application/harp+xml", "application/harp", undefined];
    for (const [party, path, body] of await posts(enforcer, approver)) {
      for (const type of types) {
        // As bytes, which are sent without a type of their own.
        const raw = new TextEncoder().encode(JSON.stringify(body));
        const answer = await party.call(path, { raw, headers: { "content-type": type } });
        refusal(answer, 415, "UnsupportedMediaType");
      }
      const charset = { "content-type": "application/harp+json; charset=latin1" };
      refusal(await party.call(path, { body, headers: charset }), 415, "UnsupportedMediaType");
      if (path === "/v1/artifacts") refusal(await party.get(`/v1/exchanges/${body.requestId}`), 404);
    }
  });

  test("HARP-86 given the media type in its other spellings, when it is sent, then it is accepted", async () => {
    const { enforcer } = await gateway.tenant();
    const spellings = [
      ...["application/harp+json; charset=utf-8", "application/harp+json;charset=UTF-8"],
      ...["application/json", "application/json; charset=utf-8"],
    ];
    for (const type of spellings) {
      const answer = await enforcer.call("/v1/artifacts", {
        body: enforcer.artifact(),
        headers: { "content-type": type },
      });
      accepted(answer, 202, "artifact.accepted");
    }
  });

  test("HARP-121 JSON truncated anywhere returns 400 without effect", async () => {
    // Given JSON that was cut off anywhere, when it is sent, then it is 400 and nothing happened.
    const { enforcer, approver } = await gateway.tenant();
    for (const [party, path, body] of await posts(enforcer, approver)) {
      const whole = JSON.stringify(body);
      for (const length of [1, whole.length >> 1, whole.length - 1]) {
        const answer = await party.call(path, { raw: whole.slice(0, length) });
        refusal(answer, 400, "MalformedJson");
        assert.equal(answer.body.requestId, "-");
      }
      for (const raw of ["", " ", "nothing", "[", `${whole}}`, "\u0000"]) {
        const { status } = await party.call(path, { raw });
        assert.equal(status, 400, JSON.stringify(raw));
      }
      for (const raw of ["null", "[]", "1", '"text"', "[{}]"]) {
        refusal(await party.call(path, { raw }), 400, "ValidationError");
      }
      if (path === "/v1/artifacts") refusal(await party.get(`/v1/exchanges/${body.requestId}`), 404);
      if (path === "/v1/decisions") assert.equal(await party.state(body.requestId), "pendingApproval");
      if (path === "/v1/acks") assert.equal(await party.state(body.requestId), "decided");
    }
  });
});

describe("Versions", () => {
  test("HARP-98 an unsupported version returns 426 with the supported ones, without effect", async () => {
    // Given a version that is not supported, when anything is asked for, then it is 426 with those that are, and nothing
    // happened.
    const { enforcer, approver } = await gateway.tenant();
    for (const version of ["0.1", "0.3", "1.0", "2", "0.20", "0.2.x", "nonsense"]) {
      const artifact = enforcer.artifact();
      const headers = { "x-harp-version": version };
      const answer = await enforcer.call("/v1/artifacts", { body: artifact, headers });
      const { details } = refusal(answer, 426, "UnsupportedVersion");
      assert.ok(JSON.stringify(details.supported).includes("0.2"), version);
      refusal(await enforcer.get(`/v1/exchanges/${artifact.requestId}`), 404);
      const inbox = await approver.call(`/v1/approvers/${approver.id}/inbox`, { headers });
      refusal(inbox, 426, "UnsupportedVersion");
    }
  });

  test("HARP-98 accepts version 0.2, its patches and a missing version", async () => {
    // Given version 0.2, one of its patches, or none, when something is asked for, then it is answered.
    const { enforcer } = await gateway.tenant();
    for (const version of ["0.2", "0.2.0", "0.2.17", undefined]) {
      const headers = { "x-harp-version": version };
      const answer = await enforcer.call("/v1/artifacts", { body: enforcer.artifact(), headers });
      accepted(answer, 202, "artifact.accepted");
    }
  });

  test("HARP-127 logs a rejected major version without any key", async () => {
    // Given another major version, when it is refused, then that is in the log, and no key is.
    // A server of its own: what others have written before may come later than the answer.
    await using own = await startGateway();
    const { enforcer } = await own.tenant();
    const refusals = () =>
      own.server
        .output()
        .split("\n")
        .filter((line) => /version/i.test(line)).length;
    assert.equal(refusals(), 0);
    const answer = await enforcer.call("/v1/exchanges/x", { headers: { "x-harp-version": "7.1" } });
    refusal(answer, 426, "UnsupportedVersion");
    await until(
      async () => refusals(),
      (count) => count === 1,
    );
    assert.ok(!own.server.output().includes(enforcer.key));
  });
});

describe("Errors", () => {
  test("HARP-84 every failure returns an error envelope with its code, conflicts are distinct", async () => {
    // Given calls that go wrong in every way, when they are answered, then each is an error envelope with its code, and
    // conflicts can be told from mistakes.
    const { enforcer, approver } = await gateway.tenant();
    const submitted = await enforcer.submit();
    const { requestId } = submitted;
    const decided = await enforcer.submit();
    await approver.decide(decided);
    const cases: [number, string, () => Promise<Answer>][] = [
      [400, "MalformedJson", () => enforcer.call("/v1/artifacts", { raw: "{" })],
      [400, "ValidationError", () => enforcer.post("/v1/artifacts", {})],
      [401, "Unauthenticated", () => enforcer.call(`/v1/exchanges/${requestId}`, { key: null })],
      [403, "Forbidden", () => enforcer.get(`/v1/approvers/${approver.id}/inbox`)],
      [404, "ExchangeNotFound", () => enforcer.get("/v1/exchanges/unknown")],
      [404, "InboxItemNotFound", () => approver.delete(`/v1/approvers/${approver.id}/inbox/unknown`)],
      [404, "MessageNotFound", () => enforcer.acknowledge(requestId, "unknown")],
      [404, "EnforcerNotFound", () => approver.get("/v1/presence/enforcers/unknown")],
      [404, "PairingNotFound", () => approver.get("/v1/pairing/resolve/ABCDEFGH")],
      [404, "RouteNotFound", () => enforcer.get("/v1/nowhere")],
      [404, "RouteNotFound", () => enforcer.get("/v2/artifacts")],
      [405, "MethodNotAllowed", () => enforcer.get("/v1/artifacts")],
      [405, "MethodNotAllowed", () => enforcer.delete(`/v1/exchanges/${requestId}`)],
      [409, "AlreadyExistsConflict", () => enforcer.post("/v1/artifacts", enforcer.artifact({ requestId }))],
      [409, "AlreadyDecidedConflict", () => approver.decide(decided)],
      [409, "InvalidStateConflict", () => enforcer.withdraw(decided.requestId)],
      [413, "PayloadTooLarge", () => approver.decide(submitted, { reason: "x".repeat(70_000) })],
      [
        415,
        "UnsupportedMediaType",
        () => enforcer.call("/v1/artifacts", { raw: "{}", headers: { "content-type": "a/b" } }),
      ],
      [422, "ArtifactExpired", () => enforcer.post("/v1/artifacts", enforcer.artifact({ lifeMs: -1000 }))],
      [
        422,
        "ArtifactHashMismatch",
        () => approver.decide({ ...submitted, artifactHash: decided.artifactHash }),
      ],
      [
        426,
        "UnsupportedVersion",
        () => enforcer.call("/v1/status", { headers: { "x-harp-version": "9.0" } }),
      ],
      [503, "EnforcerOffline", () => approver.post(`/v1/exchanges/${requestId}/refresh`)],
    ];
    for (const [status, code, call] of cases) {
      const { message, details } = refusal(await call(), status, code);
      assert.ok(message.length > 10, "it says what is wrong");
      assert.equal(typeof details.retryable, "boolean");
    }
    assert.equal((await approver.decide(decided)).body.body.requestId, decided.requestId);
    assert.equal(await enforcer.state(requestId), "pendingApproval");
  });

  test("HARP-84 malformed paths return a 4xx error envelope", async () => {
    // Given addresses that are no addresses, when they are asked, then each is an error envelope of 4xx.
    const { enforcer } = await gateway.tenant();
    const paths = [
      "/v1/exchanges/%zz",
      "/v1/exchanges/%00",
      `/v1/exchanges/${"x".repeat(300)}`,
      "/v1//",
      "/v1/exchanges/",
    ];
    for (const path of paths) {
      const { status } = await enforcer.get(path);
      assert.ok(status >= 400 && status < 500, `${status} ${path}`);
    }
  });
});

describe("The published messages", () => {
  test("HARP-97 a gateway accepts the published client messages and sends the published replies", async () => {
    // Given the messages that were published, when they are replayed at their time, then a gateway takes those of
    // clients and sends those of gateways.
    await using own = await startGateway({ movable: true });
    own.moveTo("2026-02-24T10:00:00Z");
    const tenantId = `tenant_${fresh("t")}`;
    const enforcer = await own.enforcer(tenantId, "enf-01");
    const approver = await own.approver(tenantId, "app-01");
    const requestId = "req-u6s2nku4oo";
    const artifactHash = "sha256:fe94a9a087129947cc76a6749363bff39e0dcfd64398906bb3123df38913b2a9";
    const expiresAt = "2026-02-24T10:10:00Z";

    // 10: pairing, with codes and tokens of our own making.
    const labels = { enforcerLabel: "Antigravity", workspaceName: "airlock" };
    const publicKey = "BASE64URL_PUBLIC_KEY_PLACEHOLDER";
    const initiate = { enforcerId: "enf-01", ...labels, publicKey };
    const { code, nonce } = bare(await enforcer.post("/v1/pairing/initiate", initiate));
    const resolved = bare(await approver.get(`/v1/pairing/resolve/${code}`));
    assert.partialDeepStrictEqual(resolved, { nonce, ...labels, publicKey });
    const complete = { nonce, approverId: "app-01", publicKey: "BASE64URL_APPROVER_PUBLIC_KEY_PLACEHOLDER" };
    const completed = bare(await approver.post("/v1/pairing/complete", complete));
    assert.partialDeepStrictEqual(completed, labels);
    const { routingToken } = completed;

    // 07 and 09: hello, and what others then see.
    await using channel = await openWs(enforcer);
    channel.send({ msgType: "hello", capabilities: { push: true, poll: false, sse: false }, ...labels });
    const path = `/v1/presence/enforcers?tenantId=${tenantId}`;
    const [seen] = await until(
      async () => bare(await approver.get(path)),
      ([record]) => record?.enforcerLabel !== undefined,
    );
    const record = { enforcerDeviceId: "enf-01", status: "online", transport: "websocket", ...labels };
    assert.partialDeepStrictEqual(seen, { ...record, capabilities: { push: true } });

    // 01 and 02: an artifact, and the request that approvers get.
    const shown = { workspaceName: "airlock", repoName: "harp-spec" };
    const artifact = {
      msgType: "artifact.submit",
      requestId,
      createdAt: "2026-02-24T10:00:00Z",
      sender: { enforcerId: "enf-01" },
      body: {
        artifactType: "core.artifact",
        artifactHash,
        ciphertext: { alg: "XChaCha20-Poly1305", data: "BASE64_CIPHERTEXT_PLACEHOLDER" },
        metadata: { routingToken, ...shown },
        expiresAt,
      },
    };
    accepted(await enforcer.post("/v1/artifacts", artifact), 202, "artifact.accepted");
    assert.partialDeepStrictEqual((await approver.item(requestId)).envelope, {
      msgType: "approval.request",
      requestId,
      expiresAt,
      recipient: { approverId: "app-01" },
      body: {
        artifactType: "core.artifact",
        artifactHash,
        ciphertextRef: { kind: "inline", data: "BASE64_CIPHERTEXT_PLACEHOLDER" },
        metadata: shown,
      },
    });

    // 03, 04 and 05: the decision, its delivery, its acknowledgement.
    own.moveTo("2026-02-24T10:01:00Z");
    const decision = {
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
    accepted(await approver.post("/v1/decisions", decision), 200, "decision.accepted");
    const delivered = await channel.about(requestId, "decision.deliver");
    assert.partialDeepStrictEqual(delivered, { expiresAt, recipient: { enforcerId: "enf-01" } });
    assert.deepEqual(delivered.body, decision.body);
    const ack = {
      msgType: "ack.submit",
      requestId,
      createdAt: "2026-02-24T10:01:02Z",
      sender: { enforcerId: "enf-01" },
      body: { msgId: delivered.msgId, status: "processed", ackAt: "2026-02-24T10:01:02Z" },
    };
    accepted(await enforcer.post("/v1/acks", ack), 200, "ack.accepted");

    // 06 and 08: a withdrawal, and a refresh of what expired.
    const second = await enforcer.submit();
    const withdrawn = accepted(await enforcer.withdraw(second.requestId), 200, "exchange.withdrawn");
    assert.equal(withdrawn.state, "Withdrawn");
    assert.match(withdrawn.withdrawnAt, /^2026-02-24T10:0\d/);
    assert.equal(withdrawn.reason, "Enforcer-initiated withdrawal");
    const third = await enforcer.submit();
    own.moveTo("2026-02-24T10:12:00Z");
    await approver.post(`/v1/requests/${third.requestId}/refresh?enforcerDeviceId=enf-01`);
    const { body } = await channel.about(third.requestId, "refresh.request");
    assert.equal(body.reason, "Approver requested refresh for expired artifact");
  });
});

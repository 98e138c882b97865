import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  beginStream,
  emitted,
  page,
  type Reply,
  refuse,
  scriptedGateway,
  send,
} from "../../../test/support/scripted-gateway.ts";
import { GatewayRefusal } from "./gateway-link.ts";
import { remoteLink } from "./remote-link.ts";
import type { ArtifactSubmit, DecisionDeliver, RefreshRequest } from "./wire.ts";

const hex = "b".repeat(64);
const expiresAt = "2026-02-21T12:10:00Z";

async function linkedTo(reply: Reply) {
  const gateway = await scriptedGateway(reply);
  const link = remoteLink({ url: gateway.url, key: "k", enforcerId: "enf/1", enforcerLabel: "Bridle" });
  return { gateway, link, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

function submission(requestId: string): ArtifactSubmit {
  return {
    msgType: "artifact.submit",
    requestId,
    createdAt: "2026-02-21T12:00:00Z",
    sender: { enforcerId: "enf/1" },
    body: {
      artifactType: "core.artifact",
      artifactHash: `sha256:${hex}`,
      ciphertext: { alg: "A", data: "D" },
      expiresAt,
    },
  };
}

const accepted = emitted("artifact.accepted", {
  state: "pendingApproval",
  createdAt: "2026-02-21T12:00:00Z",
  expiresAt,
  artifactHash: `sha256:${hex}`,
  duplicate: false,
});

function decision(requestId: string, body: object = { decision: "approve" }) {
  return emitted("decision.deliver", body, { requestId, expiresAt });
}

describe("An enforcer's link to a gateway elsewhere", () => {
  test("HARP-99 only submissions carry an idempotency key, always made of id and hash", async () => {
    // Given an artifact, when it is submitted, again too, then the key of idempotency is its id and hash, and only
    // there.
    await using world = await linkedTo((_, response) => send(response, 202, accepted));
    const envelope = submission("01J2V8V3K6B2Z9X6G1V7Y2QK8H");
    assert.deepEqual((await world.link.submit(envelope)).body, accepted.body);
    await world.link.submit(envelope);
    await world.link.submit(submission("заявка"));
    await world.link.acknowledge("r", "m", "processed");
    const keys = world.gateway.heard.map(({ headers }) => headers["idempotency-key"]);
    assert.deepEqual(keys, [
      `01J2V8V3K6B2Z9X6G1V7Y2QK8H:${hex}`,
      `01J2V8V3K6B2Z9X6G1V7Y2QK8H:${hex}`,
      `${encodeURIComponent("заявка")}:${hex}`,
      undefined,
    ]);
    assert.deepEqual(world.gateway.heard[0]?.body, envelope);
    const ack = world.gateway.heard[3]?.body;
    assert.deepEqual([ack.msgType, ack.requestId, ack.sender], ["ack.submit", "r", { enforcerId: "enf/1" }]);
    assert.deepEqual([ack.body.msgId, ack.body.status], ["m", "processed"]);
  });

  test("the status of an unknown request is null, and a refused withdrawal is reported", async () => {
    // Given a request, when it is withdrawn or asked about, then what is unknown is null and what is refused is told.
    const status = { requestId: "r 1", state: "decided", createdAt: "2026-02-21T12:00:00Z", expiresAt };
    await using world = await linkedTo(({ path }, response) => {
      if (path === "/v1/exchanges/r%201") send(response, 200, emitted("exchange.status", status));
      else if (path === "/v1/exchanges/r%201/withdraw") refuse(response, 409, "InvalidStateConflict");
      else if (path === "/v1/exchanges/other") response.writeHead(404).end("nothing here");
      else refuse(response, 404, "ExchangeNotFound");
    });
    assert.deepEqual((await world.link.status("r 1"))?.body, status);
    assert.equal(await world.link.status("gone"), null);
    await assert.rejects(world.link.withdraw("r 1"), { code: "InvalidStateConflict", status: 409 });
    await assert.rejects(
      world.link.status("other"),
      { code: "NotAGateway" },
      "nobody said that it is unknown",
    );
  });

  test("pairing sends labels, and revoking a token uses a call outside of HARP", async () => {
    // Given a pairing, when it is begun, followed and revoked, then labels are said and the token is revoked outside of
    // HARP.
    const nonce = "pn-1";
    await using world = await linkedTo(({ path }, response) => {
      if (path === "/v1/pairing/initiate") send(response, 200, { code: "ABCD2345", nonce, expiresAt });
      else if (path === `/v1/pairing/${nonce}/status`)
        send(response, 200, { nonce, state: "initiated", expiresAt, more: 1 });
      else refuse(response, 404, "PairingNotFound");
    });
    const { link, gateway } = world;
    assert.deepEqual(await link.initiatePairing({ workspaceName: "airlock", publicKey: "K" }), {
      code: "ABCD2345",
      nonce,
      expiresAt,
    });
    await link.initiatePairing({ enforcerLabel: "Other" });
    assert.deepEqual(await link.pairing(nonce), { nonce, state: "initiated", expiresAt });
    assert.equal(await link.pairing("pn-2"), null);
    assert.deepEqual(
      gateway.at("/v1/pairing/initiate").map(({ body }) => body),
      [
        { enforcerId: "enf/1", enforcerLabel: "Bridle", workspaceName: "airlock", publicKey: "K" },
        { enforcerId: "enf/1", enforcerLabel: "Other" },
      ],
    );
  });

  test("passes on waiting and new decisions unchanged and skips senseless messages", async () => {
    // Given decisions that wait and others that come, when messages are read, then all are handed on as they came, and
    // what makes no sense is passed over.
    const odd = { decision: 7, more: true };
    await using world = await linkedTo(({ path }, response) => {
      if (path.startsWith("/v1/enforcers/enf%2F1/inbox?limit=10&cursor="))
        send(response, 200, page([decision("r2")]));
      else if (path.startsWith("/v1/enforcers/enf%2F1/inbox"))
        send(
          response,
          200,
          page([decision("r1"), emitted("approval.request", {}, { requestId: "x" })], "next page"),
        );
      else if (path === "/v1/sse/enforcers/enf%2F1") {
        const push = beginStream(response);
        push("ping", "");
        push("decision.deliver", decision("r3", odd));
        push("decision.deliver", { ...decision("x"), msgId: 1 });
        response.write("event: decision.deliver\ndata: {\n\n");
        push("exchange.withdrawn", decision("x"));
        push("refresh.request", emitted("refresh.request", { reason: "again" }, { requestId: "r4" }));
        response.end();
      } else refuse(response, 404, "RouteNotFound");
    });
    const found: (DecisionDeliver | RefreshRequest)[] = [];
    const reading = async () => {
      for await (const message of world.link.messages(new AbortController().signal)) found.push(message);
    };
    await assert.rejects(reading, (error) => error instanceof GatewayRefusal && error.isRetryable);
    assert.deepEqual(
      found.map(({ msgType, requestId }) => `${msgType} ${requestId}`),
      ["decision.deliver r1", "decision.deliver r2", "decision.deliver r3", "refresh.request r4"],
    );
    assert.deepEqual(found[2]?.body, odd, "the enforcer judges it, and nobody before");
  });

  test("reading messages ends quietly on abort and throws when the gateway is unreachable", async () => {
    // Given a link that is read, when the signal says so, then it ends quietly; when the gateway is away, then it
    // throws.
    const stop = new AbortController();
    await using world = await linkedTo(({ path }, response) => {
      if (path.includes("/inbox")) send(response, 200, page([]));
      else {
        beginStream(response)("ping", "");
        stop.abort();
      }
    });
    for await (const message of world.link.messages(stop.signal)) assert.fail(JSON.stringify(message));
    const away = remoteLink({ url: "http://127.0.0.1:1", key: "k", enforcerId: "e" });
    await assert.rejects(away.messages(new AbortController().signal)[Symbol.asyncIterator]().next(), {
      code: "Unreachable",
      isRetryable: true,
    });
  });
});

/** How a gateway is reached: by TLS 1.2 or later, with certificates of clients where they are asked for, and not in the clear. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { type RequestOptions, request as secureRequest } from "node:https";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import { type Answer, protocolVersion, until } from "../support/client.ts";
import { accepted, assertHarpAnswer, type Gateway, refusal, startGateway } from "../support/harp.ts";
import { wsPath } from "../support/harp-channels.ts";
import { adminKey } from "../support/server.ts";
import { refusedUpgrade } from "../support/socket.ts";

function tlsFile(name: string): string {
  return fileURLToPath(new URL(`../support/tls/${name}`, import.meta.url));
}

const pem = (name: string) => readFileSync(tlsFile(name), "utf8");
const ca = pem("localhost.crt");
const stranger = { cert: pem("stranger.crt"), key: pem("other.key") };
const known = { cert: ca, key: pem("localhost.key") };
const tlsFlags = ["--tls-cert", tlsFile("localhost.crt"), "--tls-key", tlsFile("localhost.key")];

interface Ask extends RequestOptions {
  body?: object;
}

/** One request on a connection of its own. */
async function ask(url: string, { body, ...options }: Ask = {}): Promise<Answer> {
  const send = url.startsWith("https") ? secureRequest : plainRequest;
  const sent = send(url, { method: body === undefined ? "GET" : "POST", agent: false, ca, ...options });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(sent, "response");
  assert.ok(response !== undefined);
  const text = (await response.setEncoding("utf8").toArray()).join("");
  const headers = new Headers(
    Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { status: response.statusCode ?? 0, headers, body: JSON.parse(text) };
}

async function keyFor(url: string, scope: string, options: Ask = {}): Promise<string> {
  const { status, body } = await ask(`${url}/v1/api-keys`, {
    ...options,
    headers: {
      authorization: `Bearer ${adminKey}`,
      "harn-agents-protocol-version": protocolVersion,
      "content-type": "application/json",
    },
    body: { name: scope, actor: scope, scopes: [scope] },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.key;
}

/** Why a connection did not come about. */
async function failureOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    const { code = "", message = "" }: { code?: string; message?: string } = Object(error);
    return `${code} ${message}`;
  }
  return assert.fail("it was answered");
}

describe("TLS", () => {
  let gateway: Gateway;

  before(async () => {
    gateway = await startGateway({ standalone: true, flags: tlsFlags });
  });
  after(() => gateway[Symbol.asyncDispose]());

  test("HARP-100 a gateway with a certificate serves and declares TLS 1.2 and 1.3, WebSocket too", async () => {
    // Given a gateway with a certificate, when it is asked over TLS 1.2 and 1.3, also by WebSocket, then it answers, and
    // says that it speaks TLS.
    const { url } = gateway.server;
    assert.match(url, /^https:/);
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const answer = await ask(`${url}/v1/status`, { minVersion: version, maxVersion: version });
      assertHarpAnswer(answer);
      assert.equal(answer.status, 200);
      assert.ok(answer.body.transport.includes("HTTPS"));
      assert.equal(answer.body.mTLS, false);
    }
    const key = await keyFor(url, "harp:approver:ada");
    const socket = new WebSocket(url.replace(/^http/, "ws") + wsPath({ role: "approver", id: "ada" }), {
      headers: { authorization: `Bearer ${key}` },
      ca,
    });
    await once(socket, "open");
    socket.terminate();
  });

  test("HARP-100 a gateway with a certificate fails the handshake of older TLS", async () => {
    // Given a gateway with a certificate, when it is asked over older TLS, then the handshake fails on its side.
    const old: RequestOptions = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
    assert.match(await failureOf(ask(`${gateway.server.url}/v1/status`, old)), /alert protocol version/i);
  });

  test("HARP-100 a gateway with a certificate serves nothing in the clear", async () => {
    // Given a gateway with a certificate, when it is asked in the clear, then nothing is served.
    const url = gateway.server.url.replace(/^https/, "http");
    const answer = await ask(`${url}/v1/status`).catch(() => null);
    assert.ok(answer === null || answer.status === 400, String(answer?.status));
    const socket = new WebSocket(url.replace(/^http/, "ws") + wsPath({ role: "approver", id: "ada" }));
    await once(socket, "error");
  });
});

describe("Certificates of clients", () => {
  let gateway: Gateway;

  before(async () => {
    const flags = [...tlsFlags, "--tls-client-ca", tlsFile("localhost.crt")];
    gateway = await startGateway({ standalone: true, flags });
  });
  after(() => gateway[Symbol.asyncDispose]());

  test("HARP-104 a missing or untrusted client certificate is refused, whatever the key", async () => {
    // Given a gateway that asks for certificates, when a client shows none or that of a stranger, then it is not let in,
    // with whatever key.
    const { url } = gateway.server;
    const headers = { authorization: `Bearer ${adminKey}` };
    for (const certificate of [{}, stranger]) {
      for (const path of ["/v1/status", "/v1/approvers/ada/inbox"]) {
        const failure = await failureOf(ask(url + path, { ...certificate, headers }));
        assert.match(failure, /certificate|alert|ECONNRESET|EPIPE|socket/i);
      }
      const socket = new WebSocket(url.replace(/^http/, "ws") + wsPath({ role: "approver", id: "ada" }), {
        ...certificate,
        headers,
        ca,
      });
      const [error]: Error[] = await once(socket, "error");
      assert.ok(error !== undefined);
    }
  });

  test("HARP-104 a trusted client certificate is declared, let in, and still needs a key", async () => {
    // Given a client with a certificate that is vouched for, when it asks, then it is let in, still needs its key, and
    // the gateway says what it asks for.
    const { url } = gateway.server;
    const status = await ask(`${url}/v1/status`, known);
    assert.deepEqual([status.status, status.body.mTLS], [200, true]);
    const inbox = `${url}/v1/approvers/ada/inbox`;
    refusal(await ask(inbox, known), 401, "Unauthenticated");
    const key = await keyFor(url, "harp:approver:ada", known);
    const answer = await ask(inbox, { ...known, headers: { authorization: `Bearer ${key}` } });
    assertHarpAnswer(answer);
    accepted(answer, 200, "inbox.page");
  });
});

describe("Without TLS", () => {
  let gateway: Gateway;

  before(async () => {
    gateway = await startGateway({ standalone: true, flags: ["--trust-proxy", "127.0.0.1"] });
  });
  after(() => gateway[Symbol.asyncDispose]());

  const clear = { "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "http" };
  const secure = { "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https" };

  test("HARP-100 remote requests without TLS get InsecureTransport, no effect and a log entry", async () => {
    // Given somebody on another machine who does not use TLS, when they ask, by REST, SSE or WebSocket, then it is
    // InsecureTransport, nothing happened, and it is logged.
    const { enforcer, approver } = await gateway.tenant();
    const artifact = enforcer.artifact();
    const sent = await enforcer.call("/v1/artifacts", { body: artifact, headers: clear });
    refusal(sent, 403, "InsecureTransport");
    refusal(await enforcer.get(`/v1/exchanges/${artifact.requestId}`), 404, "ExchangeNotFound");
    const stream = await approver.call(`/v1/sse/approvers/${approver.id}`, { headers: clear });
    refusal(stream, 403, "InsecureTransport");
    refusal(await approver.call("/v1/exchanges/x", { key: null, headers: clear }), 403, "InsecureTransport");
    const client = gateway.admin.as(approver.key);
    const upgrade = await refusedUpgrade(client, wsPath(approver), { headers: clear });
    assert.deepEqual([upgrade.status, upgrade.body.body.code], [403, "InsecureTransport"]);
    const output = await until(
      async () => gateway.server.output(),
      (text) => text.split("\n").filter((line) => /without TLS/i.test(line)).length >= 4,
    );
    assert.ok(!output.includes(approver.key));
  });

  test("HARP-100 a trusted proxy that was asked over TLS is answered", async () => {
    // Given a proxy that is believed and was asked over TLS, when it passes that on, then it is answered.
    const { enforcer } = await gateway.tenant();
    const answer = await enforcer.call("/v1/artifacts", { body: enforcer.artifact(), headers: secure });
    accepted(answer, 202, "artifact.accepted");
  });
});

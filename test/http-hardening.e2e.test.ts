/** What every answer carries, which other origins may use the API, and what becomes of those who guess. */

import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { decodeJwt, decodeProtectedHeader, SignJWT } from "jose";
import { bridle, errorLine } from "./support/cli.ts";
import { type Answer, Client, errorOf, type Json } from "./support/client.ts";
import { ask, tokenFor } from "./support/oauth.ts";
import { startServer, type TestServer } from "./support/server.ts";
import { agents } from "./support/socket-server.ts";
import { openStream } from "./support/sse.ts";

const app = "https://app.example.com";
const failuresMax = 5;

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer({
    flags: ["--cors-origin", app, "http://localhost:3000", "--auth-failures", String(failuresMax)],
    config: { builtInAgents: "on" },
    env: { BRIDLE_TRUST_PROXY: "127.0.0.1 10.0.0.0/8", BRIDLE_PUBLIC_URL: "https://bridle.example.com" },
  });
  client = new Client(server);
});
after(() => server[Symbol.asyncDispose]());

function assertSecure(headers: Headers, what: string): void {
  assert.equal(headers.get("x-content-type-options"), "nosniff", what);
  assert.equal(headers.get("x-frame-options"), "DENY", what);
  assert.equal(headers.get("referrer-policy"), "no-referrer", what);
  assert.equal(headers.get("content-security-policy"), "default-src 'none'; frame-ancestors 'none'", what);
  assert.match(headers.get("cache-control") ?? "", /no-store|^public, max-age=\d+$/, what);
}

async function assertRefused(flag: string, value: string): Promise<void> {
  const ended = await bridle(["serve", "--port", "0", flag, value]);
  assert.ok(errorLine(ended, 2).includes(flag), value);
}

describe("Security headers", () => {
  test("SEC-1 all responses carry restrictive headers and only public pages are cacheable", async () => {
    // Given answers of every kind, when their headers are read, then all tell browsers to do nothing with them, and only
    // public pages may be kept.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "artifact a.txt hello");
    const [artifact] = await client.listAll(`/v1/artifacts?task_id=${task.id}`);
    const requests: Record<string, () => Promise<{ status: number; headers: Headers }>> = {
      "a resource": () => client.get(`/v1/sessions/${id}`),
      "a list": () => client.get("/v1/sessions"),
      "a creation": () => client.post("/v1/sessions", { workspace_id: "workspace_default" }),
      "a stream": () => client.get(`/v1/tasks/${task.id}/stream`),
      "a file": () => client.get(`/v1/artifacts/${artifact.id}/content`),
      "the card": () => client.get("/v1/agent-card"),
      "the document": () => client.get("/openapi.json"),
      health: () => client.get("/health"),
      "an unknown address": () => client.get("/nowhere"),
      "an unknown resource": () => client.get("/v1/sessions/unknown"),
      "no key": () => client.call("/v1/sessions", { key: null }),
      "a bad body": () => client.call("/v1/sessions", { raw: "{" }),
      "a bad escape": () => client.get("/v1/sessions/%zz"),
      "an id that is too long": () => client.get(`/v1/sessions/${"x".repeat(300)}`),
      "the metadata of tokens": () => client.get("/.well-known/oauth-authorization-server"),
      "a refused token": () => ask(server.url, {}),
      "a message to tools": () =>
        client.post(
          "/mcp",
          { jsonrpc: "2.0", id: 1, method: "tools/list" },
          { accept: "application/json, text/event-stream" },
        ),
      "no message to tools": () => client.call("/mcp", { raw: "{" }),
    };
    for (const [what, request] of Object.entries(requests)) {
      const { headers } = await request();
      assertSecure(headers, what);
      assert.match(headers.get("x-request-id") ?? "", /^req_/, what);
      assert.equal(headers.get("strict-transport-security"), "max-age=31536000", what);
    }
    for (const path of [
      `/v1/sessions/${id}`,
      `/v1/artifacts/${artifact.id}/content`,
      `/v1/tasks/${task.id}/stream`,
    ]) {
      assert.match((await client.get(path)).headers.get("cache-control") ?? "", /no-store/, path);
    }
  });

  test("SEC-1 a server not known to be behind https sends no HSTS header", async () => {
    // Given a server that is not known to be behind https, when it answers, then it does not demand https for ever.
    await using plain = await startServer();
    const { headers } = await new Client(plain).get("/health");
    assertSecure(headers, "health");
    assert.equal(headers.get("strict-transport-security"), null);
  });
});

describe("Other origins", () => {
  const preflight = (origin: string, path = "/v1/sessions", url = server.url): Promise<Response> =>
    fetch(url + path, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,idempotency-key",
      },
    });

  for (const origin of [app, "http://localhost:3000"]) {
    test(`SEC-2 a preflight from the configured origin ${origin} is allowed without a key`, async () => {
      // Given the configured origin ${origin}, when a browser asks before it calls, then it may, without a key.
      for (const path of ["/v1/sessions", "/v1/sessions/unknown", "/oauth/token"]) {
        const { status, headers } = await preflight(origin, path);
        assert.equal(status, 204);
        assert.equal(headers.get("access-control-allow-origin"), origin);
        assert.equal(headers.get("access-control-allow-credentials"), null);
        assert.match(headers.get("vary") ?? "", /Origin/i);
        const allowed = (headers.get("access-control-allow-headers") ?? "").toLowerCase().split(", ");
        for (const name of [
          "authorization",
          "idempotency-key",
          "harn-agents-protocol-version",
          "last-event-id",
        ]) {
          assert.ok(allowed.includes(name), name);
        }
        for (const method of ["GET", "POST", "PATCH", "PUT", "DELETE"]) {
          assert.ok((headers.get("access-control-allow-methods") ?? "").includes(method), method);
        }
      }
    });
  }

  test("SEC-2 scripts of the configured origin see answers, streams, errors and needed headers", async () => {
    // Given the configured origin, when its scripts call, then they see answers, streams and errors, and the headers
    // they need.
    const { id } = await client.createSession();
    const task = await client.rehearse(id, "say hello");
    const answers = [
      await client.get("/v1/sessions", { origin: app }),
      await client.get(`/v1/tasks/${task.id}/stream`, { origin: app }),
      await client.get("/v1/sessions/unknown", { origin: app }),
      await client.call("/v1/sessions", { key: null, headers: { origin: app } }),
    ];
    for (const { headers } of answers) {
      assert.equal(headers.get("access-control-allow-origin"), app);
      const exposed = (headers.get("access-control-expose-headers") ?? "").toLowerCase().split(", ");
      for (const name of [
        "x-request-id",
        "idempotent-replayed",
        "etag",
        "location",
        "ratelimit",
        "retry-after",
      ]) {
        assert.ok(exposed.includes(name), name);
      }
    }
  });

  const strangers = [
    "https://evil.example.com",
    "null",
    "https://app.example.com.evil.com",
    "http://app.example.com",
  ];
  for (const origin of strangers) {
    test(`SEC-2 no response allows the origin ${origin}, preflight or call`, async () => {
      // Given the origin ${origin}, when it asks and calls, then nothing tells a browser that it may.
      const asked = await preflight(origin);
      assert.equal(asked.status, 404);
      assert.equal(asked.headers.get("access-control-allow-origin"), null);
      const { headers } = await client.get("/v1/sessions", { origin });
      assert.equal(headers.get("access-control-allow-origin"), null);
      assert.match(headers.get("vary") ?? "", /Origin/i);
    });
  }

  test("SEC-2 given no configured origin, when any asks, then there is no such thing", async () => {
    await using plain = await startServer();
    const { status, headers } = await preflight(app, "/v1/sessions", plain.url);
    assert.equal(status, 404);
    assert.equal(headers.get("access-control-allow-origin"), null);
    const answer = await new Client(plain).get("/v1/sessions", { origin: app });
    assert.equal(answer.headers.get("access-control-allow-origin"), null);
  });

  test("SEC-2 a setting that is no exact origin prints one line and exits with 2", async () => {
    // Given a setting that is no exact origin, when the server is started, then it is one line and exit code 2.
    const wrong = ["*", "null", "app.example.com", "https://app.example.com/"];
    await Promise.all(wrong.map((origin) => assertRefused("--cors-origin", origin)));
  });
});

describe("Those who guess", () => {
  /** As if behind a proxy that is trusted: every test has addresses of its own. */
  const from = (address: string) => ({ "x-forwarded-for": address });
  const guess = (n: number, address: string): Promise<Answer> =>
    client.call("/v1/sessions", { key: `guess-${n}`, headers: from(address) });

  async function exhaust(address: string): Promise<void> {
    for (let n = 0; n < failuresMax; n++) errorOf(await guess(n, address), 401);
  }

  test("SEC-3 too many wrong keys get 429 with a retry time for that address alone", async () => {
    // Given an address that presented too many wrong keys, when it presents another, then it is 429 with when to try
    // again, and other addresses are not held up.
    await exhaust("192.0.2.1");
    const answer = await guess(99, "192.0.2.1");
    const error = errorOf(answer, 429);
    assert.equal(error.code, "rate_limited");
    const seconds = Number(answer.headers.get("retry-after"));
    assert.ok(seconds >= 1 && seconds <= 60 / failuresMax, String(seconds));
    assert.equal(error.details.retry_after_seconds, seconds);
    errorOf(await guess(99, "192.0.2.2"), 401);
  });

  test("SEC-3 a good key or token still works from a throttled address", async () => {
    // Given such an address, when somebody there has a good key or token, then they notice nothing.
    const key = await client.createKey();
    const address = "192.0.2.3";
    await exhaust(address);
    const { body } = await ask(server.url, {
      basic: { id: key.id, secret: key.key },
      headers: from(address),
    });
    for (const good of [client.key, key.key, body.access_token]) {
      const { status } = await client.call("/v1/sessions", { key: good, headers: from(address) });
      assert.equal(status, 200);
    }
    errorOf(await guess(99, address), 429);
  });

  test("SEC-3 an unseen token from a throttled address is not verified until used elsewhere", async () => {
    // Given such an address, when a token comes from it that was never seen before, then its signature is not checked
    // until it has been elsewhere.
    const address = "192.0.2.6";
    const { body } = await ask(server.url, {
      basic: await client.createKey().then(({ id, key }) => ({ id, secret: key })),
    });
    // As good as the one that the server gave out, but not one that it remembers.
    const fresh = await new SignJWT({ ...decodeJwt(body.access_token), jti: "another" })
      .setProtectedHeader({ ...decodeProtectedHeader(body.access_token), alg: "EdDSA" })
      .sign(createPrivateKey(await readFile(join(server.data, "signing.key"), "utf8")));
    const use = (from: object) => client.call("/v1/sessions", { key: fresh, headers: { ...from } });
    await exhaust(address);
    errorOf(await use(from(address)), 429);
    assert.equal((await use(from("192.0.2.7"))).status, 200);
    assert.equal((await use(from(address))).status, 200);
  });

  test("SEC-3 many requests without credentials answer 401 and count for nothing", async () => {
    // Given requests without any credentials, when there are many, then they are 401 and count for nothing.
    const address = "192.0.2.4";
    for (let n = 0; n < failuresMax * 3; n++) {
      errorOf(await client.call("/v1/sessions", { key: null, headers: from(address) }), 401);
    }
    errorOf(await guess(1, address), 401);
  });

  test("SEC-3 given wrong tokens, when there are too many, then they are not even looked at", async () => {
    const address = "192.0.2.5";
    const key = await client.createKey();
    const token = await tokenFor(client, key);
    for (let n = 0; n < failuresMax; n++) {
      const forged = `${token.slice(0, -8)}${"ABCDEFGH".slice(n)}${"x".repeat(n)}`;
      errorOf(await client.call("/v1/sessions", { key: forged, headers: from(address) }), 401);
    }
    errorOf(await client.call("/v1/sessions", { key: `${token}x`, headers: from(address) }), 429);
  });

  test("SEC-3 too many wrong secrets for a client answer 429; the right one still works", async () => {
    // Given wrong secrets for one client from many addresses, when there are too many, then the next is 429, and the
    // right secret still works.
    const key = await client.createKey();
    const wrong = `${key.key.slice(0, -2)}${key.key.endsWith("AA") ? "BB" : "AA"}`;
    const attempt = (secret: string, n: number) =>
      ask(server.url, { basic: { id: key.id, secret }, headers: from(`198.51.100.${n}`) });
    for (let n = 0; n < failuresMax; n++) assert.equal((await attempt(wrong, n)).status, 401);
    const refused = await attempt(wrong, 99);
    assert.deepEqual([refused.status, refused.body.error], [429, "rate_limited"]);
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    assert.equal((await attempt(key.key, 99)).status, 200);
  });

  test("SEC-4 in a partly trusted proxy chain the last address that cannot be forged counts", async () => {
    // Given a chain of proxies, when only some are trusted, then the last address that none of them made up is the one
    // that counts.
    // The client itself wrote the first address; the trusted proxy at 10.0.0.1 saw 203.0.113.7.
    const forged = (n: number) => from(`192.0.2.${100 + n}, 203.0.113.7, 10.0.0.1`);
    for (let n = 0; n < failuresMax; n++) {
      errorOf(await client.call("/v1/sessions", { key: "guess", headers: forged(n) }), 401);
    }
    errorOf(await client.call("/v1/sessions", { key: "guess", headers: forged(50) }), 429);
  });

  test("SEC-4 without a trusted proxy a client claiming many addresses counts as one", async () => {
    // Given no trusted proxy, when a client claims another address every time, then it is counted as one.
    await using plain = await startServer({ flags: ["--auth-failures", String(failuresMax)] });
    const guesser = new Client(plain, "guess");
    for (let n = 0; n < failuresMax; n++)
      errorOf(await guesser.get("/v1/sessions", from(`192.0.2.${n}`)), 401);
    errorOf(await guesser.get("/v1/sessions", from("192.0.2.99")), 429);
    assert.equal((await new Client(plain).get("/v1/sessions")).status, 200);
  });

  test("SEC-4 a trusted proxy setting that is no address prints one line and exits with 2", async () => {
    // Given a setting that is no address, when the server is started, then it is one line and exit code 2.
    const wrong = ["true", "10.0.0.0/33", "0.0.0.0/0", "proxy.example.com"];
    await Promise.all(wrong.map((address) => assertRefused("--trust-proxy", address)));
  });
});

test("SEC-1 bytes that are no HTTP get a short answer and the server goes on", async () => {
  // Given bytes that are no HTTP, when they are answered, then the answer is short and the server goes on.
  const { port } = new URL(server.url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.write("this is no HTTP\r\n\r\n");
  const answer = (await socket.toArray()).join("");
  assert.match(answer, /^HTTP\/1\.1 400 /);
  const health: Json = (await client.get("/health")).body;
  assert.equal(health.ok, true);
});

describe("Credentials of open streams", () => {
  test("SEC-5 revoking a key ends its open stream as unauthenticated, not those of others", async () => {
    // Given an open stream, when its key is revoked, then it ends with unauthenticated, and that of another key goes on.
    await using own = await startServer({ config: { agents, heartbeatMs: 50 } });
    const admin = new Client(own);
    const { id } = await admin.createSession();
    const key = await admin.createKey();
    await using revoked = await openStream(admin.as(key.key), `/v1/sessions/${id}/events/stream`);
    await using other = await openStream(admin, `/v1/sessions/${id}/events/stream`);
    assert.equal((await revoked.frames.next()).value.event, "session.created");
    assert.equal((await other.frames.next()).value.event, "session.created");
    await admin.call(`/v1/api-keys/${key.id}`, { method: "DELETE" });
    const last = await revoked.frames.next();
    assert.deepEqual([last.value.event, last.value.data.error.code], ["error", "unauthenticated"]);
    assert.equal((await revoked.frames.next()).done, true);
    await admin.call(`/v1/sessions/${id}`, { method: "PATCH", body: { summary: "on" } });
    assert.equal((await other.frames.next()).value.event, "vendor.bridle.session.updated");
  });
});

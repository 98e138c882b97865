/** OAuth2 client credentials: what an API key can be exchanged for, what that is good for, and when it ends. */

import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from "jose";
import { Client, errorOf, type Json, until } from "../support/client.ts";
import { ask, tokenFor } from "../support/oauth.ts";
import {
  adminKey,
  startProcess,
  startServer,
  type TestServer,
  temporaryDirectory,
} from "../support/server.ts";

let server: TestServer;
let client: Client;
let key: Json;

before(async () => {
  server = await startServer();
  client = new Client(server);
  key = await client.createKey({ actor: "ada", scopes: ["sessions:read", "sessions:write", "tasks:read"] });
});
after(() => server[Symbol.asyncDispose]());

const credentials = () => ({ client_id: key.id, client_secret: key.key });

describe("The token endpoint", () => {
  const ways: Record<string, () => Parameters<typeof ask>[1]> = {
    client_secret_basic: () => ({ basic: { id: key.id, secret: key.key } }),
    client_secret_post: () => ({ form: credentials() }),
    "client_secret_basic with the id in the form as well": () => ({
      basic: { id: key.id, secret: key.key },
      form: { client_id: key.id },
    }),
  };
  for (const [way, request] of Object.entries(ways)) {
    test(`OAU-1 a token obtained by ${way} has the rights and the actor of its API key`, async () => {
      // Given an API key, when it asks for a token by ${way}, then the token does what the key may do, as its actor.
      const { status, headers, body } = await ask(server.url, request());
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal(headers.get("pragma"), "no-cache");
      assert.deepEqual(Object.keys(body).sort(), ["access_token", "expires_in", "scope", "token_type"]);
      assert.deepEqual([body.token_type, body.expires_in], ["Bearer", 900]);
      assert.equal(body.scope, "sessions:read sessions:write tasks:read");
      const { id } = await client.as(body.access_token).createSession();
      const [event] = await client.listAll(`/v1/sessions/${id}/events`);
      assert.equal(event.actor, "ada");
    });
  }

  test("OAU-1 a token verifies with the published keys and states actor, audience, scope, expiry", async () => {
    // Given a token, when anybody verifies it with the published keys, then it says who, for whom, what and until when.
    const workspace = (await client.post("/v1/workspaces", { name: "W", root: "." })).body.id;
    const bound = await client.createKey({
      actor: "bob",
      scopes: ["tasks:read"],
      workspace_ids: [workspace],
    });
    const token = await tokenFor(client, bound);
    const keys = createRemoteJWKSet(new URL(`${server.url}/.well-known/jwks.json`));
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      typ: "at+jwt",
      algorithms: ["EdDSA"],
    });
    assert.equal(typeof protectedHeader.kid, "string");
    const { iss, aud, iat, exp, jti, ...rest } = payload;
    assert.ok(iss !== undefined && iss !== "" && aud === iss);
    assert.equal(exp, (iat ?? 0) + 900);
    assert.ok(Math.abs(Date.now() / 1000 - (iat ?? 0)) < 60);
    assert.match(jti ?? "", /^tok_/);
    assert.deepEqual(rest, {
      sub: "bob",
      scope: "tasks:read",
      tenant_id: "tenant_default",
      client_id: bound.id,
      workspace_ids: [workspace],
    });
  });

  test("OAU-9 a client finds the token endpoint and the keys from the server's address alone", async () => {
    // Given the server's metadata, when a client that knows only the server's address reads it, then it finds the token
    // endpoint and the keys.
    const response = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
    const metadata: Json = await response.json();
    assert.equal(metadata.issuer, server.url);
    assert.equal(metadata.token_endpoint, `${server.url}/oauth/token`);
    assert.equal((await fetch(metadata.jwks_uri)).status, 200);
    assert.deepEqual(metadata.grant_types_supported, ["client_credentials"]);
    for (const resource of ["personas", "vaults", "memories", "connectors", "skills", "quotas", "receipts"]) {
      for (const action of ["read", "write"]) {
        assert.ok(metadata.scopes_supported.includes(`${resource}:${action}`), resource);
      }
    }
    const { body } = await client.get("/openapi.json");
    const { clientCredentials } = body.components.securitySchemes.oauth2ClientCredentials.flows;
    assert.deepEqual(Object.keys(clientCredentials.scopes), metadata.scopes_supported);
    assert.equal(new URL(clientCredentials.tokenUrl, server.url).href, metadata.token_endpoint);
  });

  test("OAU-9 metadata and tokens name the public URL as issuer, and the token works", async () => {
    // Given a public URL, when metadata and tokens are read, then both name it as the issuer, and the token works.
    const publicUrl = "https://bridle.example.com";
    await using other = await startServer({ flags: ["--public-url", publicUrl] });
    const admin = new Client(other);
    const metadata: Json = await (await fetch(`${other.url}/.well-known/oauth-authorization-server`)).json();
    assert.deepEqual([metadata.issuer, metadata.token_endpoint], [publicUrl, `${publicUrl}/oauth/token`]);
    const token = await tokenFor(admin, await admin.createKey());
    const { iss, aud } = decodeJwt(token);
    assert.deepEqual([iss, aud], [publicUrl, publicUrl]);
    assert.equal((await admin.as(token).get("/v1/sessions")).status, 200);
  });
});

describe("Refusals of the token endpoint", () => {
  const wrongSecret = () => `${key.key.slice(0, -2)}${key.key.endsWith("AA") ? "BB" : "AA"}`;
  const form = "application/x-www-form-urlencoded";
  const refused: Record<string, { request(): Parameters<typeof ask>[1]; error: string; status: number }> = {
    "no client": { request: () => ({}), error: "invalid_client", status: 401 },
    "a wrong secret": {
      request: () => ({ form: { ...credentials(), client_secret: wrongSecret() } }),
      error: "invalid_client",
      status: 401,
    },
    "the secret of another client": {
      request: () => ({ form: { ...credentials(), client_id: "key_01ARZ3NDEKTSV4RRFFQ69G5FAV" } }),
      error: "invalid_client",
      status: 401,
    },
    "the administrator's key": {
      request: () => ({ form: { client_id: "admin", client_secret: adminKey } }),
      error: "invalid_client",
      status: 401,
    },
    "a Basic header that is none": {
      request: () => ({ headers: { authorization: "Basic ???" } }),
      error: "invalid_client",
      status: 401,
    },
    "a key as a bearer": {
      request: () => ({ headers: { authorization: `Bearer ${key.key}` } }),
      error: "invalid_client",
      status: 401,
    },
    "two ways of authentication": {
      request: () => ({ basic: { id: key.id, secret: key.key }, form: credentials() }),
      error: "invalid_request",
      status: 400,
    },
    "no grant type": {
      request: () => ({ raw: new URLSearchParams(credentials()).toString() }),
      error: "invalid_request",
      status: 400,
    },
    "another grant type": {
      request: () => ({ form: { ...credentials(), grant_type: "password" } }),
      error: "unsupported_grant_type",
      status: 400,
    },
    "a parameter given twice": {
      request: () => ({
        raw: `grant_type=client_credentials&scope=a&scope=b&${new URLSearchParams(credentials())}`,
      }),
      error: "invalid_request",
      status: 400,
    },
    JSON: {
      request: () => ({
        raw: JSON.stringify({ grant_type: "client_credentials", ...credentials() }),
        contentType: "application/json",
      }),
      error: "invalid_request",
      status: 400,
    },
    "a form that is too large": {
      request: () => ({
        raw: `grant_type=client_credentials&scope=${"a".repeat(20_000)}`,
        contentType: form,
      }),
      error: "invalid_request",
      status: 400,
    },
    "a scope that the key does not have": {
      request: () => ({ form: { ...credentials(), scope: "sessions:read tasks:write" } }),
      error: "invalid_scope",
      status: 400,
    },
    "a scope that does not exist": {
      request: () => ({ form: { ...credentials(), scope: "everything" } }),
      error: "invalid_scope",
      status: 400,
    },
  };
  for (const [what, { request, error, status }] of Object.entries(refused)) {
    test(`OAU-2 a token request with ${what} answers ${status} ${error} and quotes nothing`, async () => {
      // Given ${what}, when a token is asked for, then it is ${status} ${error} and quotes nothing.
      const answer = await ask(server.url, request());
      assert.equal(answer.status, status, JSON.stringify(answer.body));
      assert.deepEqual(Object.keys(answer.body), ["error", "error_description"]);
      assert.equal(answer.body.error, error);
      assert.equal(answer.headers.get("cache-control"), "no-store");
      assert.equal(answer.headers.get("www-authenticate"), status === 401 ? 'Basic realm="bridle"' : null);
      const text = JSON.stringify(answer.body);
      for (const secret of [key.key, wrongSecret(), adminKey, key.id]) assert.ok(!text.includes(secret));
    });
  }

  test("OAU-2 a secret in the URL of a token request is ignored", async () => {
    // Given a secret in the address, when a token is asked for, then it is not read from there.
    const query = new URLSearchParams({ grant_type: "client_credentials", ...credentials() });
    const response = await fetch(`${server.url}/oauth/token?${query}`, {
      method: "POST",
      headers: { "content-type": form },
    });
    assert.equal(response.status, 400);
  });
});

describe("Scopes of tokens", () => {
  test("OAU-3 a token for some of its key's scopes is limited to these", async () => {
    // Given a token for some of the key's scopes, when it is used, then it may do these and nothing else.
    const { body } = await ask(server.url, { form: { ...credentials(), scope: "sessions:read" } });
    assert.equal(body.scope, "sessions:read");
    const holder = client.as(body.access_token);
    assert.equal((await holder.get("/v1/sessions")).status, 200);
    const error = errorOf(await holder.post("/v1/sessions", { workspace_id: "workspace_default" }), 403);
    assert.equal(error.details.required_scope, "sessions:write");
    errorOf(await holder.get("/v1/tasks"), 403);
  });

  test("OAU-3 given an administrator's key, when it asks for less, then the token has less", async () => {
    const admin = await client.createKey();
    const holder = client.as(await tokenFor(client, admin, "tasks:read"));
    assert.equal((await holder.get("/v1/tasks")).status, 200);
    errorOf(await holder.get("/v1/sessions"), 403);
    errorOf(await holder.post("/v1/api-keys", { name: "k", actor: "a", scopes: ["tasks:read"] }), 403);
  });

  test("OAU-3 a token of another tenant's workspace-bound key sees what the key sees", async () => {
    // Given a key of another tenant that is bound to a workspace, when its token is used, then it sees what the key
    // sees.
    const stranger = client.as((await client.createKey({ tenant_id: "tenant_other" })).key);
    const workspace_id = (await stranger.post("/v1/workspaces", { name: "W", root: "." })).body.id;
    const inside = await stranger.createSession({ workspace_id });
    const outside = await stranger.createSession({ workspace_id: "workspace_default.tenant_other" });
    const bound = await stranger.createKey({ workspace_ids: [workspace_id] });
    const holder = client.as(await tokenFor(client, bound));
    assert.deepEqual(
      (await holder.listAll("/v1/sessions")).map(({ id }) => id),
      [inside.id],
    );
    errorOf(await holder.get(`/v1/sessions/${outside.id}`), 404);
  });

  test("OAU-3 a token that grants a new key scopes only its own key has gets 403", async () => {
    // Given a token that may make keys, when it grants what its key has and it has not, then it is 403.
    const admin = await client.createKey();
    const holder = client.as(await tokenFor(client, admin, "api_keys:write tasks:read"));
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const make = (scope: string) =>
      holder.post("/v1/api-keys", { name: "k", actor: "a", scopes: [scope], expires_at });
    errorOf(await make("admin"), 403);
    errorOf(await make("sessions:read"), 403);
    assert.equal((await make("tasks:read")).status, 201);
  });
});

describe("The end of tokens", () => {
  test("OAU-4 revoking a key stops its tokens at once and leaves those of other keys", async () => {
    // Given a token that works, when its key is revoked, then it stops at once, and the tokens of other keys do not.
    const [doomed, other] = [await client.createKey(), await client.createKey()];
    const [first, second] = [await tokenFor(client, doomed), await tokenFor(client, other)];
    for (const token of [first, second])
      assert.equal((await client.as(token).get("/v1/sessions")).status, 200);
    await client.call(`/v1/api-keys/${doomed.id}`, { method: "DELETE" });
    errorOf(await client.as(first).get("/v1/sessions"), 401);
    assert.equal((await client.as(second).get("/v1/sessions")).status, 200);
    const { status, body } = await ask(server.url, { basic: { id: doomed.id, secret: doomed.key } });
    assert.deepEqual([status, body.error], [401, "invalid_client"]);
  });

  test("OAU-4 given a key that expires soon, when it has, then its token has ended with it", async () => {
    const expires = Date.now() + 1500;
    const short = await client.createKey({ expires_at: new Date(expires).toISOString() });
    const holder = client.as(await tokenFor(client, short));
    assert.equal((await holder.get("/v1/sessions")).status, 200);
    await until(
      () => holder.get("/v1/sessions"),
      ({ status }) => status === 401,
    );
    assert.ok(Date.now() >= expires);
  });

  test("OAU-4 tokens survive a kill and a key rotation, those of a revoked key do not", async () => {
    // Given tokens, when the server is killed and started again and its signing key is turned, then they still work, and
    // one of a revoked key does not.
    await using data = await temporaryDirectory();
    const keys: Json[] = [];
    const tokens: string[] = [];
    {
      await using first = await startProcess({ data: data.path });
      const admin = new Client(first);
      for (let n = 0; n < 2; n++) keys.push(await admin.createKey());
      for (const made of keys) tokens.push(await tokenFor(admin, made));
      await admin.call(`/v1/api-keys/${keys[1].id}`, { method: "DELETE" });
      await first.kill();
    }
    await using second = await startProcess({ data: data.path });
    const admin = new Client(second);
    const [good = "", bad = ""] = tokens;
    assert.equal((await admin.as(good).get("/v1/sessions")).status, 200);
    errorOf(await admin.as(bad).get("/v1/sessions"), 401);

    const before = await tokenFor(admin, keys[0]);
    assert.equal((await admin.post("/v1/signing-keys/rotate")).status, 201);
    const now = await tokenFor(admin, keys[0]);
    assert.notEqual(decodeProtectedHeader(now).kid, decodeProtectedHeader(before).kid);
    await second.kill();
    await using third = await startServer({ data: data.path });
    for (const token of [good, before, now]) {
      assert.equal((await new Client(third, token).get("/v1/sessions")).status, 200);
    }
  });

  test("OAU-4 no file and no output contains the keys and tokens that were used", async () => {
    // Given keys and tokens that were used, when the server has stopped, then no file and no output has any of them.
    await using data = await temporaryDirectory();
    await using running = await startServer({ data: data.path, env: { BRIDLE_LOG_LEVEL: "trace" } });
    const admin = new Client(running);
    const made = await admin.createKey();
    const token = await tokenFor(admin, made);
    await admin.as(token).createSession();
    await ask(running.url, { basic: { id: made.id, secret: `${made.key}x` } });
    errorOf(await admin.as(`${token}x`).get("/v1/sessions"), 401);
    assert.equal(await running.stop(), 0);
    const entries = await readdir(data.path, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const contents = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name))));
    const everything = Buffer.concat([...contents, Buffer.from(running.output())]);
    assert.ok(everything.includes(made.id), "what was searched is where they would be");
    for (const part of [made.key.slice(-43), ...token.split(".").slice(1)])
      assert.ok(!everything.includes(part));
  });
});

describe("Forged tokens", () => {
  /** The server's own key, as a thief of it would have it. */
  async function stolenKey(): Promise<KeyObject> {
    return createPrivateKey(await readFile(join(server.data, "signing.key"), "utf8"));
  }

  interface Forgery {
    header?: Json;
    claims?: Json;
    by?: KeyObject | Uint8Array;
  }

  /** A token as the server makes them, with something changed. */
  async function forge({ header = {}, claims = {}, by }: Forgery): Promise<string> {
    const honest = await tokenFor(client, key);
    const payload = Object.fromEntries(
      Object.entries({ ...decodeJwt(honest), ...claims }).filter(([, value]) => value !== null),
    );
    return await new SignJWT(payload)
      .setProtectedHeader({ ...(decodeProtectedHeader(honest) as { alg: string }), ...header })
      .sign(by ?? (await stolenKey()));
  }

  test("OAU-5 an unmodified forged token works, so the tests below fail only for their change", async () => {
    // Given nothing changed, when the forgery is used, then it works: the tests below fail for what they change.
    assert.equal((await client.as(await forge({})).get("/v1/sessions")).status, 200);
  });

  const seconds = Math.floor(Date.now() / 1000);
  const { privateKey: stranger } = generateKeyPairSync("ed25519");
  const forgeries: Record<string, Forgery | (() => Promise<string>)> = {
    "another issuer": { claims: { iss: "https://elsewhere.example.com" } },
    "no issuer": { claims: { iss: null } },
    "another audience": { claims: { aud: "https://elsewhere.example.com" } },
    "no audience": { claims: { aud: null } },
    "an expiry that has passed": { claims: { iat: seconds - 1000, exp: seconds - 100 } },
    "no expiry": { claims: { exp: null } },
    "an expiry that is text": { claims: { exp: "tomorrow" } },
    "a beginning that is still to come": { claims: { nbf: seconds + 600 } },
    "no client": { claims: { client_id: null } },
    "a client that never was": { claims: { client_id: "key_01ARZ3NDEKTSV4RRFFQ69G5FAV" } },
    "no scope": { claims: { scope: null } },
    "another type": { header: { typ: "JWT" } },
    "a key id that is not ours": { header: { kid: "key_unknown" } },
    "no key id": { header: { kid: undefined } },
    "a signature of another key": { by: stranger },
    "a shared secret instead of a key": {
      header: { alg: "HS256" },
      by: new TextEncoder().encode("0123456789abcdef0123456789abcdef"),
    },
    "the public key as a shared secret": async () => {
      const { keys } = (await client.get("/.well-known/jwks.json")).body;
      return await forge({ header: { alg: "HS256" }, by: Buffer.from(keys[0].x, "base64url") });
    },
    "no signature": async () => {
      const [, payload] = (await forge({})).split(".");
      return `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url")}.${payload}.`;
    },
    "a signature cut short": async () => (await forge({})).slice(0, -4),
    "claims changed after signing": async () => {
      const [header, payload = "", signature] = (await forge({})).split(".");
      const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
      const changed = Buffer.from(JSON.stringify({ ...claims, scope: "admin" })).toString("base64url");
      return `${header}.${changed}.${signature}`;
    },
    "its own key inside": async () => {
      const jwk = { ...(stranger.export({ format: "jwk" }) as Json), d: undefined };
      return await forge({ header: { jwk, kid: undefined }, by: stranger });
    },
  };
  for (const [what, forgery] of Object.entries(forgeries)) {
    test(`OAU-5 a token with ${what} gets the same 401 as any wrong key`, async () => {
      // Given a token with ${what}, when it is used, then it is the same 401 as for any wrong key.
      const token = typeof forgery === "function" ? await forgery() : await forge(forgery);
      const answer = await client.as(token).get("/v1/sessions");
      const plain = await client.as("wrong").get("/v1/sessions");
      const { request_id: _, ...error } = errorOf(answer, 401);
      const { request_id: __, ...expected } = errorOf(plain, 401);
      assert.deepEqual(error, expected);
      assert.equal(answer.headers.get("www-authenticate"), 'Bearer realm="bridle", error="invalid_token"');
    });
  }

  test("OAU-5 a token forged with the stolen key gets no more scopes than its client has", async () => {
    // Given the stolen key, when a token claims more scopes than its client has, then it gets no more than these.
    const holder = client.as(await forge({ claims: { scope: "admin sessions:read" } }));
    assert.equal((await holder.get("/v1/sessions")).status, 200);
    errorOf(await holder.get("/v1/api-keys"), 403);
  });

  test("OAU-5 a token forged with the stolen key keeps its client's tenant and actor", async () => {
    // Given the stolen key, when a token claims another tenant or actor, then its client's are what counts.
    const holder = client.as(await forge({ claims: { tenant_id: "tenant_other", sub: "eve" } }));
    const { id } = await holder.createSession();
    const [event] = await client.listAll(`/v1/sessions/${id}/events`);
    assert.equal(event.actor, "ada");
  });
});

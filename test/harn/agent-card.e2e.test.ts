/** The signed card: what it says, that it can be verified with nothing but the published keys, and that it stays the same. */

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { after, before, test } from "node:test";
import canonicalize from "canonicalize";
import { Client, type Json } from "../support/client.ts";
import { ask } from "../support/oauth.ts";
import { startProcess, type TestProcess, temporaryDirectory } from "../support/server.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: TestProcess;
let client: Client;

const flags = ["--public-url", "https://bridle.example.com"];

before(async () => {
  directory = await temporaryDirectory();
  server = await startProcess({ data: directory.path, flags });
  client = new Client(server);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

/** As a client would that knows the specification and not our code. */
async function isSigned(card: Json): Promise<boolean> {
  const { signature, ...unsigned } = card;
  assert.equal(signature.algorithm, "ed25519");
  const { keys } = (await client.get("/.well-known/jwks.json")).body;
  const jwk = keys.find(({ kid }: Json) => kid === signature.key_id);
  assert.ok(jwk !== undefined, "the key is published");
  const text = canonicalize(unsigned) ?? assert.fail("no canonical form");
  const bytes = Buffer.from(signature.value.replace(/^base64:/, ""), "base64");
  return verify(null, Buffer.from(text), createPublicKey({ key: jwk, format: "jwk" }), bytes);
}

test("CRD-1 the card verifies with the published keys, and fails after any change", async () => {
  // Given the card, when it is verified with the published keys, then it is signed, and not any more when anything in it
  // is changed.
  const { body: card } = await client.get("/v1/agent-card");
  assert.equal(card.object, "harn_agent_card");
  assert.equal(await isSigned(card), true);
  for (const change of [
    { name: "Another" },
    { auth_schemes: [] },
    { metadata: { a: 1 } },
    { public_url: null },
  ]) {
    assert.equal(await isSigned({ ...card, ...change }), false, JSON.stringify(change));
  }
});

test("CRD-2 the card is the same when read again, and 304 for those who have it", async () => {
  // Given a card that was read, when it is asked for again, then it is the same, and 304 for those who have it.
  const first = await client.get("/v1/agent-card");
  const etag = first.headers.get("etag") ?? "";
  assert.match(etag, /^"[^"]+"$/);
  assert.match(first.headers.get("cache-control") ?? "", /^public, max-age=\d+$/);
  await client.createSession();
  await client.createKey({ tenant_id: "tenant_other" });
  const again = await client.get("/v1/agent-card");
  assert.deepEqual([again.headers.get("etag"), again.body], [etag, first.body]);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const { status, headers, body } = await client.get("/v1/agent-card", { "if-none-match": known });
    assert.deepEqual([status, headers.get("etag"), body], [304, etag, ""], known);
  }
  for (const unknown of ['"other"', "", etag.slice(1, -1)]) {
    assert.equal((await client.get("/v1/agent-card", { "if-none-match": unknown })).status, 200, unknown);
  }
});

test("CRD-2 the card survives a restart unchanged and is signed anew after a key rotation", async () => {
  // Given the same agents, when the server is started again, then the card is the same; when the key is turned, then it
  // is signed anew.
  const before = await client.get("/v1/agent-card");
  await server.kill();
  server = await startProcess({ data: directory.path, flags });
  client = new Client(server);
  const after = await client.get("/v1/agent-card");
  assert.deepEqual(after.body, before.body);
  assert.equal(after.headers.get("etag"), before.headers.get("etag"));
  assert.equal((await client.post("/v1/signing-keys/rotate")).status, 201);
  const turned = await client.get("/v1/agent-card");
  assert.notEqual(turned.body.signature.key_id, before.body.signature.key_id);
  assert.notEqual(turned.headers.get("etag"), before.headers.get("etag"));
  assert.equal(await isSigned(turned.body), true);
  assert.equal(await isSigned(before.body), true);
});

test("CRD-3 the card names bearer keys and the token endpoint that is served", async () => {
  // Given the card, when a client looks for how to authenticate, then it finds bearer keys and the token endpoint that
  // is served.
  const { body } = await client.get("/v1/agent-card");
  assert.deepEqual(body.auth_schemes, ["bearer", "oauth2"]);
  const { clientCredentials } = body.a2a_card.securitySchemes.oauth2.oauth2SecurityScheme.flows;
  const { pathname, origin } = new URL(clientCredentials.tokenUrl);
  assert.equal(origin, "https://bridle.example.com");
  assert.equal(pathname, "/oauth/token");
  assert.equal((await ask(server.url, {})).body.error, "invalid_client");
  assert.ok("tasks:write" in clientCredentials.scopes);
});

test("CRD-3 the card reveals nothing of any tenant, workspace or persona", async () => {
  // Given tenants, workspaces and personas, when the card is read, then nothing of anybody's is in it.
  await client.createKey({ tenant_id: "tenant_secretive", actor: "secretive" });
  await client.post("/v1/workspaces", { name: "Secretive", root: "." });
  const text = JSON.stringify((await client.get("/v1/agent-card")).body);
  assert.ok(!/secretive|workspace_(?!files)|persona_/i.test(text));
});

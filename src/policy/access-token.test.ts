/** Time and tokens of ours: what a retired key may still vouch for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { newSigningKey } from "../receipts/keys.ts";
import { accessTokenSeconds, claimedIssuer, mintAccessToken, readAccessToken } from "./access-token.ts";

const identity = "harness_1";
const start = Date.parse("2030-01-01T00:00:00Z");
const lifeMs = accessTokenSeconds * 1000;
const { key } = newSigningKey();

const claims = {
  jti: "tok_1",
  clientId: "key_1",
  actor: "ada",
  tenantId: "tenant_default",
  workspaceIds: null,
  scopes: ["tasks:read"] as const,
  keyVersion: 0,
};

function read(token: string, nowMs: number, retiredAt: number | null) {
  return readAccessToken(token, { identity, nowMs, keyOf: async () => ({ jwk: key.jwk, retiredAt }) });
}

test("OAU-4 given a token, when its time is over, then it is nothing any more", async () => {
  const { token, expiresAt } = await mintAccessToken(key, identity, claims, start);
  assert.equal(expiresAt, start + lifeMs);
  assert.deepEqual(await read(token, expiresAt - 1000, null), {
    clientId: "key_1",
    keyVersion: 0,
    scopes: ["tasks:read"],
    expiresAt,
  });
  assert.equal(await read(token, expiresAt, null), null);
});

test("OAU-4 a retired key's earlier tokens expire as planned and its later ones are rejected", async () => {
  // Given a key that is retired, when its tokens are read, then those from before end as they would have, and nothing it
  // signs later counts.
  const { token } = await mintAccessToken(key, identity, claims, start);
  const retiredAt = start + 1000;
  assert.notEqual(await read(token, start + lifeMs - 1000, retiredAt), null);
  const { token: late } = await mintAccessToken(key, identity, claims, retiredAt + lifeMs);
  assert.equal(await read(late, retiredAt + lifeMs, retiredAt), null);
  assert.notEqual(await read(late, retiredAt + lifeMs, null), null);
});

test("OAU-5 only a bearer in the form of a JWT claims an issuer", async () => {
  // Given bearers of all kinds, when they are looked at, then only what has the form of a JWT claims an issuer.
  const { token } = await mintAccessToken(key, identity, claims, start);
  assert.equal(claimedIssuer(token), identity);
  const [header, payload, signature] = token.split(".");
  const others = [
    "",
    "a.b.c",
    "..",
    "bridle_key_01ARZ3NDEKTSV4RRFFQ69G5FAV_x",
    `${header}.${payload}`,
    `${token}.${signature}`,
    `${token} `,
    `${header}.${Buffer.from('"text"').toString("base64url")}.${signature}`,
    `${header}.${Buffer.from('{"iss":["harness_1"]}').toString("base64url")}.${signature}`,
    `${header}.${"A".repeat(10_000)}.${signature}`,
  ];
  for (const other of others) assert.equal(claimedIssuer(other), null, other.slice(0, 50));
});

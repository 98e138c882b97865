/** Issuers over time: keys that change, issuers that go away and come back, issuers that never answer. */

import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mock, test } from "node:test";
import { SignJWT } from "jose";
import { ExternalIssuers, KeysUnavailable } from "./external-issuers.ts";

const issuer = "https://login.example.com";
const audience = "https://bridle.example.com";
const minuteMs = 60_000;

interface Signer {
  kid: string;
  privateKey: KeyObject;
  jwk: object;
}

function signer(kid: string): Signer {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { kid, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid } };
}

function tokenOf({ kid, privateKey }: Signer): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ tenant_id: "tenant_default", scope: "tasks:read" })
    .setProtectedHeader({ alg: "EdDSA", kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject("robot")
    .setExpirationTime(now + 60)
    .sign(privateKey);
}

type Answer = (response: ServerResponse) => void;

/** A real issuer whose answer can be changed, and those who trust it. */
async function trusted(answer: Answer) {
  const login = { answer, asked: 0, complaints: 0 };
  const server = createServer((_request, response) => {
    login.asked += 1;
    login.answer(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const jwks = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`);
  const issuers = new ExternalIssuers([{ issuer, jwks }], {
    audience,
    onKeysUnavailable: () => {
      login.complaints += 1;
    },
  });
  return {
    login,
    accepts: async (by: Signer) => (await issuers.read(await tokenOf(by), issuer, Date.now())) !== null,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const publish =
  (...signers: Signer[]): Answer =>
  (response) =>
    response.end(JSON.stringify({ keys: signers.map(({ jwk }) => jwk) }));
const fail: Answer = (response) => response.writeHead(503).end();

/** Only the clock is ours to move; sockets and timers are real. */
function movableClock() {
  mock.timers.enable({ apis: ["Date"], now: Date.parse("2030-01-01T00:00:00Z") });
  return { forward: (ms: number) => mock.timers.tick(ms), [Symbol.dispose]: () => mock.timers.reset() };
}

test("OAU-8 a token with a rotated key refetches the keys, at most every half minute", async () => {
  // Given an issuer that turned its key, when a token with the new one comes, then the keys are fetched again, once in
  // half a minute.
  using clock = movableClock();
  const [before, after] = [signer("before"), signer("after")];
  using world = await trusted(publish(before));
  assert.equal(await world.accepts(before), true);
  world.login.answer = publish(after);
  assert.equal(await world.accepts(after), false);
  assert.equal(world.login.asked, 1);
  clock.forward(31_000);
  assert.deepEqual(await Promise.all([world.accepts(after), world.accepts(after)]), [true, true]);
  assert.equal(world.login.asked, 2);
  assert.equal(await world.accepts(before), false);
  assert.equal(world.login.asked, 2);
});

test("OAU-8 a failing issuer's last keys stay valid for an hour; it is asked again once back", async () => {
  // Given an issuer that went away, when tokens come, then its last keys are good for an hour, and it is asked again
  // when it is back.
  using clock = movableClock();
  const key = signer("only");
  using world = await trusted(publish(key));
  assert.equal(await world.accepts(key), true);
  world.login.answer = fail;
  clock.forward(11 * minuteMs);
  assert.equal(await world.accepts(key), true);
  assert.deepEqual([world.login.asked, world.login.complaints], [2, 1]);
  clock.forward(50 * minuteMs);
  await assert.rejects(world.accepts(key), KeysUnavailable);
  await assert.rejects(world.accepts(key), KeysUnavailable);
  assert.deepEqual([world.login.asked, world.login.complaints], [3, 2]);
  world.login.answer = publish(key);
  clock.forward(6000);
  assert.equal(await world.accepts(key), true);
});

const useless: Record<string, Answer> = {
  "a page": (response) => response.end("<html>"),
  "no key set": (response) => response.end('{"keys":{}}'),
  "a redirection": (response) => response.writeHead(302, { location: "https://elsewhere.example.com" }).end(),
};
for (const [what, answer] of Object.entries(useless)) {
  test(`OAU-8 an issuer that answers with ${what} has its keys unavailable`, async () => {
    // Given an issuer that gives ${what}, when a token comes, then its keys are said to be unavailable.
    using world = await trusted(answer);
    await assert.rejects(world.accepts(signer("any")), KeysUnavailable);
    await assert.rejects(world.accepts(signer("any")), KeysUnavailable);
    assert.equal(world.login.asked, 1);
  });
}

test("OAU-8 an issuer that never finishes its answer times out soon", async () => {
  // Given an issuer that begins to answer and never ends, when a token comes, then it is not waited for long.
  using world = await trusted((response) => response.write('{"keys":['));
  const started = performance.now();
  await assert.rejects(world.accepts(signer("any")), KeysUnavailable);
  assert.ok(performance.now() - started < 20_000);
});

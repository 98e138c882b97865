/** The text of a card that is signed, and who is believed to have signed it. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { canonicalizeAgentCard, generateAgentCardSignature } from "@a2a-js/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { CompactSign, exportJWK, generateKeyPair } from "jose";
import { newSigningKey } from "../receipts/keys.ts";
import { type CardKey, canonicalCard, signCard, strippedCard, verifyCard } from "./agent-card.ts";

/** Made for this: the key is the example of RFC 8037. */
const vector = {
  text: '{"capabilities":{"streaming":false},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"Echoes text.","name":"Echo","skills":[{"description":"Repeats the input.","id":"echo","name":"Echo","tags":["demo"]}],"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://echo.example/rpc"}],"version":"0.1.0"}',
  hash: "81dfd5ed70d7f89306aaaa2569fcb02d1dc16506afccecb8d56f47779a6e95ce",
  signature: {
    protected: "eyJhbGciOiJFZERTQSIsInR5cCI6IkpPU0UiLCJraWQiOiJ0MSJ9",
    signature: "mKxyHWUsCqaH-SGxvLakzxd15grKMZDBAenVHKAehkxpbQqrVHh1moX7xPjnuf5r4aQB7uklXDY6kOFQR2LOAA",
  },
  key: { kty: "OKP", crv: "Ed25519", kid: "t1", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
};
const plainCard: JsonObject = JSON.parse(vector.text);
const keySet = "https://bridle.example.com/.well-known/jwks.json";

test("OPVS-124 the known card has the known canonical form and its signature verifies", async () => {
  // Given a known card, when it is put into its canonical form, then it is the known text, and the known signature
  // verifies.
  const card = { ...plainCard, signatures: [vector.signature], unknown: { field: 1 } };
  assert.equal(canonicalCard(card), vector.text);
  assert.equal(createHash("sha256").update(canonicalCard(card)).digest("hex"), vector.hash);
  assert.equal(await verifyCard(card, [vector.key]), true);
  for (const change of [
    { name: "Another" },
    { version: "0.1.1" },
    { iconUrl: "https://x" },
    { skills: [] },
  ]) {
    assert.equal(await verifyCard({ ...card, ...change }, [vector.key]), false, JSON.stringify(change));
  }
});

/** What is in the card, and what of it is signed. `name` and the like are always there. */
const always = {
  name: "",
  description: "",
  supportedInterfaces: [],
  version: "",
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};
function assertSigned(given: JsonObject, signed: JsonObject): void {
  assert.deepEqual(JSON.parse(canonicalCard(given)), { ...always, ...signed });
}

test("OPVS-125 the canonical form omits an optional field that is not set", () => {
  // Given an optional field that is not set, when the card is put into its canonical form, then it is absent.
  assertSigned({}, {});
  assertSigned({ documentationUrl: null, capabilities: {} }, { capabilities: {} });
});

test("OPVS-126 the canonical form keeps an optional field set to its default", () => {
  // Given an optional field that is set to its default, when the card is put into its canonical form, then it is there.
  assertSigned({ iconUrl: "" }, { iconUrl: "" });
  assertSigned({ capabilities: { streaming: false } }, { capabilities: { streaming: false } });
});

test("OPVS-127 the canonical form keeps required fields at their defaults, at any depth", () => {
  // Given required fields at their defaults, when the card is put into its canonical form, then they are there, however
  // deep.
  assertSigned({ description: "", skills: [] }, {});
  assertSigned({ skills: [{ id: "a" }] }, { skills: [{ id: "a", name: "", description: "", tags: [] }] });
  const flow = (body: JsonObject): JsonObject => ({
    securitySchemes: { o: { oauth2SecurityScheme: { flows: { clientCredentials: body } } } },
  });
  assertSigned(flow({}), flow({ tokenUrl: "", scopes: {} }));
});

test("OPVS-128 the canonical form omits other fields at their defaults but keeps data as it is", () => {
  // Given other fields at their defaults, when the card is put into its canonical form, then they are absent, but data
  // stays as it is.
  assertSigned({ securitySchemes: {}, securityRequirements: [] }, {});
  assertSigned({ capabilities: { streaming: true, extensions: [] } }, { capabilities: { streaming: true } });
  assertSigned(
    { supportedInterfaces: [{ url: "u", tenant: "" }] },
    { supportedInterfaces: [{ url: "u", protocolBinding: "", protocolVersion: "" }] },
  );
  const data = { a: "", b: [], c: null, d: { e: {} } };
  assertSigned(
    { capabilities: { extensions: [{ uri: "u", required: false, params: data }] } },
    { capabilities: { extensions: [{ uri: "u", params: data }] } },
  );
  const member = { securitySchemes: { m: { mtlsSecurityScheme: {} } } };
  assertSigned(member, member);
});

test("OPVS-129 the canonical form omits signatures", () => {
  // Given signatures, when the card is put into its canonical form, then they are absent.
  assertSigned({ signatures: [vector.signature] }, {});
});

test("CRD-5 given any card, when it is stripped, then it is what the official library signs", () => {
  const text = fc.oneof(fc.constant(""), fc.string({ unit: "grapheme" }));
  const scheme = fc.oneof(
    fc.record({ mtlsSecurityScheme: fc.record({ description: text }, { requiredKeys: [] }) }),
    fc.record({ httpAuthSecurityScheme: fc.record({ scheme: text, bearerFormat: text }) }),
  );
  const card = fc.record(
    {
      name: text,
      description: text,
      iconUrl: text,
      capabilities: fc.record(
        { streaming: fc.boolean(), extendedAgentCard: fc.boolean() },
        { requiredKeys: [] },
      ),
      defaultInputModes: fc.array(text, { maxLength: 3 }),
      securitySchemes: fc.dictionary(fc.stringMatching(/^[a-z0-9]{1,4}$/), scheme, { maxKeys: 3 }),
      skills: fc.array(fc.record({ id: text, tags: fc.array(text, { maxLength: 2 }) }), { maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(card, (each) => {
      const json = JSON.parse(JSON.stringify(each));
      assert.equal(strippedCard(json), canonicalizeAgentCard(json));
    }),
  );
});

test("CRD-5 refuses to sign a card with an empty field, as verifiers would disagree", () => {
  // Given a card with something empty in it, when it is to be signed, then it is not: verifiers would disagree.
  const { key } = newSigningKey();
  assert.throws(() => signCard({ ...plainCard, description: "" }, key, keySet), /empty/);
  const signed = signCard(plainCard, key, keySet);
  assert.deepEqual(signCard(plainCard, key, keySet), signed);
  const [{ protected: header = "" } = {}] = signed.signatures ?? [];
  assert.deepEqual(JSON.parse(Buffer.from(header, "base64url").toString()), {
    alg: "EdDSA",
    kid: key.kid,
    typ: "JOSE",
    jku: keySet,
  });
});

test("CRD-6 accepts a card with empty fields signed by the official library", async () => {
  // Given a card with empty fields that the official library signed, when it is verified, then it is believed.
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const sign = generateAgentCardSignature(privateKey, { alg: "ES256", kid: "theirs", typ: "JOSE" });
  const card = { ...plainCard, description: "", provider: { url: "", organization: "They" } };
  const signed = await sign(JSON.parse(JSON.stringify(card)));
  const key = { ...(await exportJWK(publicKey)), kid: "theirs" };
  const json: JsonObject = JSON.parse(JSON.stringify(signed));
  assert.equal(await verifyCard(json, [key]), true);
  assert.equal(await verifyCard({ ...json, description: "x" }, [key]), false);
});

async function signedWith(header: JsonObject, key: Parameters<CompactSign["sign"]>[0]): Promise<JsonObject> {
  const sign = new CompactSign(Buffer.from(canonicalCard(plainCard)));
  const jws = await sign.setProtectedHeader({ alg: "none", ...header }).sign(key);
  const [protectedHeader = "", , signature = ""] = jws.split(".");
  return { ...plainCard, signatures: [{ protected: protectedHeader, signature }] };
}

test("OPVS-132 rejects a card from the second on in which its key ends", async () => {
  // Given a key that has ended, when a card that it signed is verified, then it is not believed from that second on.
  const { key } = newSigningKey();
  const card: JsonObject = JSON.parse(JSON.stringify(signCard(plainCard, key, keySet)));
  const ended: CardKey = { ...key.jwk, exp: 1000 };
  assert.equal(await verifyCard(card, [key.jwk]), true);
  assert.equal(await verifyCard(card, [ended], 999_999), true);
  assert.equal(await verifyCard(card, [ended], 1_000_000), false);
  assert.equal(await verifyCard(card, [ended]), false);
});

/** Nested deeper than any stack. */
function bottomless(): JsonObject {
  let inner: JsonObject = {};
  for (let depth = 0; depth < 100_000; depth++) inner = { inner };
  return inner;
}

test("CRD-6 rejects forged signatures of every kind without throwing", async () => {
  // Given forged signatures of every kind, when they are verified, then none is believed and nothing throws.
  const { key } = newSigningKey();
  const other = newSigningKey().key;
  const card: JsonObject = JSON.parse(JSON.stringify(signCard(plainCard, key, keySet)));
  const [signature] = card.signatures as JsonObject[];
  const encode = (header: unknown) => Buffer.from(JSON.stringify(header)).toString("base64url");
  const shared = new TextEncoder().encode(key.jwk.x);
  const none = encode({ alg: "none", kid: key.kid, typ: "JOSE" });
  const forged: [string, JsonObject, readonly CardKey[]][] = [
    ["no signature", plainCard, [key.jwk]],
    ["no keys", card, []],
    ["another's key under the same name", card, [{ ...other.jwk, kid: key.kid }]],
    ["the key under another name", card, [{ ...key.jwk, kid: "other" }]],
    ["no algorithm", { ...plainCard, signatures: [{ protected: none, signature: "" }] }, [key.jwk]],
    [
      "the public key as a shared secret",
      await signedWith({ alg: "HS256", kid: key.kid }, shared),
      [key.jwk],
    ],
    [
      "a shared secret that is in the key set",
      await signedWith({ alg: "HS256", kid: "s" }, shared),
      [{ kty: "oct", kid: "s", k: Buffer.from(shared).toString("base64url") }],
    ],
    [
      "a critical header that nobody knows",
      {
        ...plainCard,
        signatures: [
          { ...signature, protected: encode({ alg: "EdDSA", kid: key.kid, crit: ["mystery"], mystery: 1 }) },
        ],
      },
      [key.jwk],
    ],
    ["signatures that are no list", { ...plainCard, signatures: "x" }, [key.jwk]],
    [
      "signatures of the wrong kinds",
      { ...plainCard, signatures: [null, 1, {}, { protected: 1 }] },
      [key.jwk],
    ],
    [
      "a header that is no JSON",
      { ...plainCard, signatures: [{ ...signature, protected: "%%%" }] },
      [key.jwk],
    ],
    ["a card that is none", { ...card, skills: { a: 1 } }, [key.jwk]],
    [
      "a card without a bottom",
      { ...card, capabilities: { extensions: [{ params: bottomless() }] } },
      [key.jwk],
    ],
    ["a key that is none", card, [{ kid: key.kid, kty: "OKP", crv: "Ed25519", x: "short" }]],
    ["a signature cut short", { ...card, signatures: [{ ...signature, signature: "AAAA" }] }, [key.jwk]],
  ];
  for (const [what, claimed, keys] of forged) assert.equal(await verifyCard(claimed, keys), false, what);
  assert.equal(await verifyCard(card, [other.jwk, key.jwk]), true);
});

test("CRD-6 accepts a right signature after a wrong one, but not after too many", async () => {
  // Given a wrong signature before the right one, when the card is verified, then the right one counts; but not behind
  // endlessly many.
  const { key } = newSigningKey();
  const card: JsonObject = JSON.parse(JSON.stringify(signCard(plainCard, key, keySet)));
  const [right] = card.signatures as JsonObject[];
  const wrong = { ...right, signature: "A".repeat(86) };
  const behind = (count: number): JsonObject => ({
    ...card,
    signatures: [...Array.from({ length: count }, () => wrong), right ?? {}],
  });
  assert.equal(await verifyCard(behind(1), [key.jwk]), true);
  assert.equal(await verifyCard(behind(1000), [key.jwk]), false);
});

test("CRD-6 accepts cards signed with each algorithm that agents use", async () => {
  // Given the algorithms that agents sign with, when their cards are verified, then they are believed.
  for (const alg of ["EdDSA", "ES256", "ES384", "PS256", "RS256"]) {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "k" };
    assert.equal(
      await verifyCard(await signedWith({ alg, kid: "k", typ: "JOSE" }, privateKey), [jwk]),
      true,
      alg,
    );
  }
});

/** Keys and signatures: what is signed verifies, with the right key and in the one spelling only. */

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, test } from "node:test";
import fc from "fast-check";
import { newSigningKey, signingKeyFromPem, verifySignature } from "./keys.ts";
import { publicKeysIn } from "./public-keys.ts";

const { key, pem } = keyWithTellingSignature();

/** One in fifteen signatures is spelled the same in both alphabets of base64. */
function keyWithTellingSignature(): ReturnType<typeof newSigningKey> {
  const made = newSigningKey();
  return /[+/]/.test(made.key.sign("text").slice("base64:".length)) ? made : keyWithTellingSignature();
}

describe("signing keys", () => {
  test("given a new key, when it is read back from its file, then it is the same key", () => {
    const read = signingKeyFromPem(pem);
    assert.deepEqual(read.jwk, key.jwk);
    assert.equal(read.sign("text"), key.sign("text"));
    assert.match(key.kid, /^key_[A-Za-z0-9_-]{22}$/);
    assert.notEqual(newSigningKey().key.kid, key.kid);
  });

  test("the id of the RFC 8037 example key begins with its known thumbprint", () => {
    // Given the example key of RFC 8037, when its id is made, then it begins with its known thumbprint.
    const raw = Buffer.from("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "base64url");
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), raw]);
    const text = `-----BEGIN PRIVATE KEY-----\n${der.toString("base64")}\n-----END PRIVATE KEY-----\n`;
    const example = signingKeyFromPem(text);
    assert.equal(example.jwk.x, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
    assert.equal(example.kid, `key_${"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k".slice(0, 22)}`);
  });

  test("given a key of another kind, when it is to sign, then it is refused by name", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const other = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    assert.throws(() => signingKeyFromPem(other), /found ec/);
    assert.throws(() => signingKeyFromPem("no key"));
  });
});

describe("signatures", () => {
  const signature = key.sign("text");
  const encoded = signature.slice("base64:".length);

  test("a signature verifies with its own key and text and with no others", () => {
    // Given a signature, when it is verified with its key and text, then it holds, and with others it does not.
    assert.match(signature, /^base64:[A-Za-z0-9+/]{86}==$/);
    assert(verifySignature(key.jwk, "text", signature));
    assert(!verifySignature(key.jwk, "texT", signature));
    assert(!verifySignature(newSigningKey().key.jwk, "text", signature));
  });

  const misspelled: [string, string][] = [
    ["without its prefix", encoded],
    ["with another prefix", `base64url:${encoded}`],
    ["with its prefix in capitals", `BASE64:${encoded}`],
    ["without padding", signature.replaceAll("=", "")],
    ["with white space", `base64:${encoded.slice(0, 10)}\n${encoded.slice(10)}`],
    ["with a trailing line", `${signature}\n`],
    ["in the other alphabet", `base64:${Buffer.from(encoded, "base64").toString("base64url")}==`],
    ["with one byte less", `base64:${Buffer.from(encoded, "base64").subarray(1).toString("base64")}`],
    ["with one byte more", `base64:${Buffer.from(`${encoded.slice(0, 86)}AA`, "base64").toString("base64")}`],
    ["that is empty", "base64:"],
  ];
  for (const [how, text] of misspelled) {
    test(`given a signature ${how}, when it is verified, then it does not hold`, () => {
      assert.equal(text === signature, false);
      assert.equal(verifySignature(key.jwk, "text", text), false);
    });
  }

  test("given a signature with its spare bits set, when it is verified, then it does not hold", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const last = alphabet.indexOf(encoded.charAt(85));
    const spare = `base64:${encoded.slice(0, 85)}${alphabet.charAt(last + 1)}==`;
    assert.deepEqual(Buffer.from(spare.slice(7), "base64"), Buffer.from(encoded, "base64"));
    assert.equal(verifySignature(key.jwk, "text", spare), false);
  });

  test("a key with an invalid public part verifies no signature", () => {
    // Given a key whose public part is no point or no text of one, when it is used, then nothing holds.
    for (const x of ["", "AAAA", "!", "A".repeat(43), "A".repeat(44)]) {
      assert.equal(verifySignature({ ...key.jwk, x }, "text", signature), false);
    }
  });

  test("an arbitrary value as key or signature does not verify and never throws", () => {
    // Given anything at all, when it is verified as a signature, then the answer is no and nothing is thrown.
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (jwk, text) => {
        assert.equal(Reflect.apply(verifySignature, null, [jwk, "text", text]), false);
        assert.equal(Reflect.apply(verifySignature, null, [jwk, "text", signature]), false);
      }),
    );
  });
});

describe("key sets", () => {
  test("reading a key set skips keys of other kinds and unknown members", () => {
    // Given keys of other kinds and unknown members, when a key set is read, then they are passed over.
    const { kty, crv, x, kid } = key.jwk;
    const read = publicKeysIn({
      keys: [
        { kty: "RSA", n: "a", e: "AQAB", kid: "rsa" },
        { ...key.jwk, x5t: "extra", kid: "with extra" },
        { kty, crv, x, kid },
        { ...key.jwk, use: "enc" },
        { ...key.jwk, alg: "ES256" },
        { ...key.jwk, x: "too short" },
        { kty, crv, x },
        { kty, crv: "X25519", x, kid },
      ],
      next: "page",
    });
    assert.deepEqual(read, [{ ...key.jwk, kid: "with extra" }, key.jwk]);
  });

  test("given what is no key set, when it is read, then the answer is null", () => {
    for (const value of [null, [], {}, { keys: {} }, { keys: [1] }, "keys"]) {
      assert.equal(publicKeysIn(value), null);
    }
  });
});

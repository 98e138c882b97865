/** Verification check by check: what each one says, and that none ever throws. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { sampleBody, sampleReceipt, signed } from "../../test/support/receipt-samples.ts";
import { sha256Of } from "./canonical.ts";
import type { Check, Verification } from "./checks.ts";
import { newSigningKey } from "./keys.ts";
import type { Receipt } from "./schema.ts";
import { verifyReceipt } from "./verify.ts";

const [{ key }, { key: other }, { key: stranger }] = [newSigningKey(), newSigningKey(), newSigningKey()];
const keys = [other.jwk, key.jwk];
const receipt = sampleReceipt(key);
const body = sampleBody(key.kid);

function check({ checks }: Verification, name: string): Check {
  const found = checks.find((one) => one.name === name);
  assert(found !== undefined, `no check ${name}`);
  return found;
}

function outcomes({ checks }: Verification): Record<string, boolean | null> {
  return Object.fromEntries(checks.map(({ name, ok }) => [name, ok]));
}

function withSignature(change: object): Receipt {
  return { ...receipt, signatures: (receipt.signatures ?? []).map((one) => ({ ...one, ...change })) };
}

describe("a receipt that is as it was issued", () => {
  test("given no chain, when it is verified, then it is valid and says what could not be checked", () => {
    const verification = verifyReceipt(receipt, { keys });
    assert.equal(verification.valid, true);
    assert.equal(verification.reason, null);
    assert.deepEqual(Object.entries(outcomes(verification)), [
      ["schema", true],
      ["hash", true],
      ["chain_link", null],
      ["merkle_root", null],
      ["signature[0]", true],
      ["signatures", true],
      ["issuer_key", true],
    ]);
    assert.match(check(verification, "chain_link").message, /no chain provided/);
  });

  test("a full verification lists every check in order", () => {
    // Given everything that can be asked for, when it is verified, then every check is there, in order.
    const verification = verifyReceipt(receipt, {
      keys,
      chain: { previousHash: body.chain.previous_receipt_hash, merkleRoot: body.chain.merkle_root ?? null },
      trustAnchor: key.kid,
      atTime: "2026-05-01T10:00:09.250Z",
    });
    assert.equal(verification.valid, true);
    const names = verification.checks.filter(({ ok }) => ok).map(({ name }) => name);
    assert.deepEqual(names, [
      "schema",
      "hash",
      "chain_link",
      "merkle_root",
      "signature[0]",
      "signatures",
      "issuer_key",
      "trust_anchor",
      "issued_at",
    ]);
  });

  test("given two keys that signed, when it is verified, then both are checked by their place", () => {
    const verification = verifyReceipt(signed(body, key, other), { keys });
    assert.equal(verification.valid, true);
    assert.equal(check(verification, "signature[1]").ok, true);
  });

  test("a receipt that names neither a key nor a root can be valid", () => {
    // Given a receipt that names neither a key nor a root, when it is verified, then that is no fault.
    const { public_key_id: _, ...issuer } = body.issuer;
    const { merkle_root: __, ...chain } = body.chain;
    const verification = verifyReceipt(signed({ ...body, issuer, chain }, key), {
      keys,
      chain: { previousHash: chain.previous_receipt_hash, merkleRoot: null },
    });
    assert.equal(verification.valid, true);
    assert.equal(check(verification, "merkle_root").ok, null);
    assert(!("issuer_key" in outcomes(verification)));
  });
});

describe("a receipt that is not", () => {
  test("changed content fails the hash and signature checks and reports both hashes", () => {
    // Given changed content, when it is verified, then the hash and the signature fail, with both hashes.
    const verification = verifyReceipt({ ...receipt, receipt_id: "receipt_8" }, { keys });
    assert.equal(verification.valid, false);
    const hash = check(verification, "hash");
    assert.equal(hash.ok, false);
    assert.equal(hash.found, receipt.chain.receipt_hash);
    assert.match(hash.expected ?? "", /^sha256:/);
    assert.equal(verification.reason, hash.message);
    assert.equal(check(verification, "signature[0]").ok, false);
  });

  test("given changed content with its new hash, when it is verified, then the signature fails", () => {
    const forged = { ...signed({ ...body, receipt_id: "receipt_8" }), signatures: receipt.signatures };
    const verification = verifyReceipt(forged, { keys });
    assert.equal(check(verification, "hash").ok, true);
    assert.equal(check(verification, "signature[0]").ok, false);
    assert.equal(verification.valid, false);
  });

  test("given another chain, when it is verified, then link and root fail with what was expected", () => {
    const chain = { previousHash: null, merkleRoot: sha256Of("another") };
    const verification = verifyReceipt(receipt, { keys, chain });
    assert.equal(verification.valid, false);
    assert.deepEqual(check(verification, "chain_link").found, body.chain.previous_receipt_hash);
    assert.equal(check(verification, "chain_link").ok, false);
    assert.equal(check(verification, "merkle_root").ok, false);
    assert.equal(check(verification, "merkle_root").expected, chain.merkleRoot);
  });

  test("given a key that is not in the key set, when it is verified, then the message says so", () => {
    const verification = verifyReceipt(receipt, { keys: [other.jwk] });
    assert.equal(verification.valid, false);
    assert.match(verification.reason ?? "", /is not in the key set/);
    assert.equal(check(verification, "signature[0]").found, key.kid);
  });

  test("the id of another key fails both the signature and the issuer key check", () => {
    // Given the id of another key, when it is verified, then neither that key nor the issuer's signed.
    const verification = verifyReceipt(withSignature({ key_id: other.kid }), { keys });
    assert.equal(check(verification, "signature[0]").ok, false);
    assert.equal(check(verification, "issuer_key").ok, false);
  });

  test("given another algorithm, in whatever spelling, when it is verified, then it is refused", () => {
    for (const algorithm of ["Ed25519", "EdDSA", "none", "ed25519 "]) {
      assert.equal(verifyReceipt(withSignature({ algorithm }), { keys }).valid, false);
    }
  });

  test("RCP-19 a signed_at, which no signature covers, is reported as unchecked and proves nothing", () => {
    for (const signed_at of [
      body.issued_at,
      "2026-05-01T10:00:09.251Z",
      "2026-05-01T10:00:09.25Z",
      "2026-05-01T12:00:09.250+02:00",
    ]) {
      const verification = verifyReceipt(withSignature({ signed_at }), { keys });
      assert.equal(verification.valid, true);
      const found = check(verification, "signature[0].signed_at");
      assert.deepEqual(
        [found.ok, found.message],
        [null, "No signature covers signed_at: nothing proves it."],
      );
    }
  });

  test("rejects duplicate signatures and signatures in a different order", () => {
    // Given a signature twice or signatures in another order, when it is verified, then it is refused.
    const twice = { ...receipt, signatures: [receipt.signatures, receipt.signatures].flat() };
    assert.match(verifyReceipt(twice, { keys }).reason ?? "", /signed twice/);
    const both = signed(body, key, other);
    const reversed = { ...both, signatures: both.signatures?.toReversed() };
    assert.match(verifyReceipt(reversed, { keys }).reason ?? "", /order of their key ids/);
    const apart = { ...both, signatures: [both.signatures, both.signatures].flat() };
    assert.equal(verifyReceipt(apart, { keys }).valid, false);
  });

  test("given a stranger's signature beside a good one, when it is verified, then it is refused", () => {
    assert.equal(verifyReceipt(signed(body, key, stranger), { keys }).valid, false);
  });

  test("given the issuer's signature taken away, when another key's is left, then it is refused", () => {
    assert.equal(check(verifyReceipt(signed(body, other), { keys }), "issuer_key").ok, false);
    assert.equal(verifyReceipt(signed(body, other), { keys }).valid, false);
  });

  test("given no signatures, when it is verified, then nobody signed it", () => {
    const { signatures: _, ...unsigned } = receipt;
    for (const value of [unsigned, { ...unsigned, signatures: [] }]) {
      const verification = verifyReceipt(value, { keys });
      assert.equal(verification.valid, false);
      assert.equal(check(verification, "signatures").ok, false);
    }
  });

  test("given a key to trust, when another or none signed, then it is refused", () => {
    const anchored = (value: unknown, trustAnchor: string) =>
      check(verifyReceipt(value, { keys, trustAnchor }), "trust_anchor").ok;
    assert.equal(anchored(receipt, other.kid), false);
    assert.equal(anchored(signed(body, key, other), key.kid), false);
    assert.equal(anchored({ ...receipt, signatures: [] }, key.kid), false);
    assert.equal(anchored(receipt, key.kid), true);
  });

  test("rejects a receipt issued after the stated time, and a time that is invalid", () => {
    // Given a time by which it was issued, when it was issued later or the time is none, then it is refused.
    const by = (atTime: string) => verifyReceipt(receipt, { keys, atTime }).valid;
    assert.equal(by("2026-05-01T12:00:09.250+02:00"), true);
    assert.equal(by("2026-05-01T10:00:09.249Z"), false);
    assert.equal(by("some day"), false);
  });

  test("given values that JSON would write as others, when it is verified, then it is refused", () => {
    const zero = signed({ ...body, metadata: { a: 0 } }, key);
    assert.equal(verifyReceipt(zero, { keys }).valid, true);
    assert.equal(verifyReceipt({ ...zero, metadata: { a: -0 } }, { keys }).valid, false);
    assert.equal(verifyReceipt({ ...zero, metadata: { a: 0, b: undefined } }, { keys }).valid, false);
    assert.equal(verifyReceipt({ ...zero, metadata: { a: 0, b: new Map() } }, { keys }).valid, false);
  });

  test("a document that breaks the schema still gets all other checks", () => {
    // Given a document that breaks the schema, when it is verified, then the rest is still checked.
    const verification = verifyReceipt({ ...receipt, extra: 1 }, { keys });
    assert.equal(verification.valid, false);
    assert.equal(check(verification, "schema").ok, false);
    assert.equal(check(verification, "hash").ok, false);
    const extra = signed(Object.assign(sampleBody(key.kid), { extra: 1 }), key);
    const consistent = verifyReceipt(extra, { keys });
    assert.equal(consistent.valid, false);
    assert.equal(check(consistent, "hash").ok, true);
    assert.equal(check(consistent, "signature[0]").ok, true);
  });

  test("rejects a document too deep to hash and does not throw", () => {
    // Given a document too deep to be hashed, when it is verified, then it is refused and nothing is thrown.
    let deep: unknown = {};
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const verification = verifyReceipt({ ...receipt, metadata: { deep } }, { keys });
    assert.equal(verification.valid, false);
    assert.equal(check(verification, "hash").ok, false);
  });

  test("an arbitrary value is invalid with a reason and never throws", () => {
    // Given anything at all, when it is verified, then it is not valid, says why, and nothing is thrown.
    const anything = fc.anything({
      withNullPrototype: true,
      withBigInt: true,
      withMap: true,
      withSparseArray: true,
    });
    const options = { keys, chain: { previousHash: null, merkleRoot: null }, trustAnchor: "k", atTime: "t" };
    const names = Object.keys(receipt);
    fc.assert(
      fc.property(anything, fc.constantFrom(...names), (value, name) => {
        for (const broken of [value, { ...receipt, [name]: value }, { [name]: value }]) {
          const verification = verifyReceipt(broken, options);
          assert.equal(verification.valid, false);
          assert.equal(typeof verification.reason, "string");
        }
      }),
      { numRuns: cases(500) },
    );
  });
});

/** The hash covers everything but itself and the signatures. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import { sampleBody, signed } from "../../test/support/receipt-samples.ts";
import { sha256Of } from "./canonical.ts";
import { receiptHash } from "./hash.ts";
import { newSigningKey } from "./keys.ts";

const { key } = newSigningKey();

test("hashing a receipt gives the same hash before and after signing and changes nothing", () => {
  // Given a receipt before and after it is signed, when it is hashed, then the hash is the same and nothing is changed.
  const body = sampleBody(key.kid);
  const receipt = signed(body, key);
  const before = JSON.stringify(receipt);
  assert.equal(receiptHash(receipt), receiptHash(body));
  assert.equal(receipt.chain.receipt_hash, receiptHash(body));
  assert.equal(JSON.stringify(receipt), before);
});

test("the hash of a receipt ignores its own hash and signatures", () => {
  // Given another hash and other signatures in a receipt, when it is hashed, then they do not count.
  const receipt = signed(sampleBody(key.kid), key);
  const other = { ...receipt, chain: { ...receipt.chain, receipt_hash: sha256Of("x") }, signatures: [] };
  assert.equal(receiptHash(other), receiptHash(receipt));
});

test("a different link, root or member changes the hash of a receipt", () => {
  // Given another link, root or member in a receipt, when it is hashed, then the hash is another.
  const body = sampleBody(key.kid);
  const { merkle_root: _, ...link } = body.chain;
  const others = [
    { ...body, chain: link },
    { ...body, chain: { ...body.chain, previous_receipt_hash: null } },
    { ...body, receipt_id: "receipt_8" },
    { ...body, metadata: { ...body.metadata, receipt_hash: "x" } },
  ];
  const hashes = new Set([body, ...others].map(receiptHash));
  assert.equal(hashes.size, 5);
});

test("given a signed receipt, when it is hashed by other means, then the hash is the same", () => {
  const { signatures: _, chain, ...rest } = signed(sampleBody(key.kid), key);
  const { receipt_hash, ...link } = chain;
  const text = canonicalize({ chain: link, ...rest }) ?? "";
  assert.equal(receipt_hash, `sha256:${createHash("sha256").update(text, "utf8").digest("hex")}`);
});

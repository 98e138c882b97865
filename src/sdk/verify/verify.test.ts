/** A verifier in a browser comes to the same verdicts as a server. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../../test/runner/seed.ts";
import { sampleBody, sampleChain, signed } from "../../../test/support/receipt-samples.ts";
import { newSigningKey } from "../../receipts/keys.ts";
import {
  appendLeaf,
  inclusionProof,
  verifyInclusion as inNode,
  leafHash,
  nodeHash,
  rootOf,
} from "../../receipts/merkle.ts";
import { ReceiptSchema } from "../../receipts/schema.ts";
import { verifyReceipt as verifyInNode } from "../../receipts/verify.ts";
import { verifyChain, verifyInclusion, verifyReceipt } from "./index.ts";
import { receiptForm } from "./receipt-form.ts";

const [{ key }, { key: other }] = [newSigningKey(), newSigningKey()];
const keys = [key.jwk, other.jwk];
const receipt = signed(sampleBody(key.kid), key, other);

type Path = readonly string[];

function paths(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([name, member]) => paths(member, [...path, name]))];
}

/** A copy in which another value stands at the path. */
function changed(value: unknown, [name, ...rest]: Path, to: unknown): unknown {
  if (name === undefined) return to;
  const copy: object = Array.isArray(value) ? [...value] : { ...Object(value) };
  Reflect.set(copy, name, changed(Reflect.get(Object(value), name), rest, to));
  return copy;
}

/** Without what the two say in words about a form that is wrong. */
function verdictOf({ valid, checks }: ReturnType<typeof verifyInNode>) {
  return {
    valid,
    checks: checks.map(({ message, ...check }) => (check.name === "schema" ? check : { ...check, message })),
  };
}

async function assertSameVerdict(value: unknown): Promise<boolean> {
  const expected = verdictOf(verifyInNode(value, { keys }));
  assert.deepEqual(verdictOf(await verifyReceipt(value, { keys })), expected, JSON.stringify(value));
  return expected.valid;
}

describe("the verifier without dependencies", () => {
  test("CLT-1 a good receipt is valid, and every check equals the server's", async () => {
    // Given a good receipt, when it is verified, then it is valid, and every check is as the server's.
    assert.equal(await assertSameVerdict(receipt), true);
  });

  test("CLT-1 a change anywhere in a receipt fails the same checks as on the server", async () => {
    // Given a change anywhere in a receipt, when it is verified, then it is refused by the same checks as on the server.
    const others: unknown[] = [null, -0, 1.5, -1, "", "x", [], {}, undefined, "2026-02-30T00:00:00Z"];
    for (const path of paths(receipt).slice(1)) {
      for (const value of others) await assertSameVerdict(changed(receipt, path, value));
      // A name on a list is nothing that JSON could say.
      if (/^\d+$/.test(path.at(-1) ?? "")) continue;
      assert.equal(await assertSameVerdict(changed(receipt, [...path.slice(0, -1), "more"], "x")), false);
    }
  });

  test("CLT-1 given times of all kinds, when they stand in a receipt, then both find the same form", async () => {
    const two = fc.integer({ min: 0, max: 61 }).map((n) => String(n).padStart(2, "0"));
    const zone = fc.oneof(
      fc.constantFrom("Z", "z", "", "+00:00", "-00:01"),
      fc.tuple(two, two).map(([h, m]) => `+${h}:${m}`),
    );
    const known = [
      "2024-02-29T23:59:60Z",
      "2023-02-29T00:00:00Z",
      "2100-02-29T00:00:00Z",
      "2016-12-31T18:59:60-05:00",
    ];
    for (const time of known) await assertSameVerdict({ ...receipt, issued_at: time });
    await fc.assert(
      fc.asyncProperty(two, two, two, two, two, zone, async (month, day, hour, minute, second, offset) => {
        await assertSameVerdict({
          ...receipt,
          issued_at: `2024-${month}-${day}T${hour}:${minute}:${second}${offset}`,
        });
      }),
      { numRuns: cases(300) },
    );
  });

  test("CLT-1 any input at all gets a verdict, the same as the server's", async () => {
    // Given anything at all, when it is verified, then the answer is a verdict, and the server's.
    await fc.assert(
      fc.asyncProperty(fc.anything(), async (value) => {
        const ours = await verifyReceipt(value, { keys });
        assert.equal(ours.valid, false);
        assert.deepEqual(verdictOf(ours), verdictOf(verifyInNode(value, { keys })));
      }),
      { numRuns: cases(300) },
    );
    assert.equal((await verifyReceipt(receipt, { keys: [] })).valid, false);
  });

  test("CLT-1 the form that verifiers know equals the receipt schema", () => {
    // Given the form that verifiers know, when it is compared with the schema of receipts, then it is the same.
    assert.deepEqual(receiptForm, JSON.parse(JSON.stringify(ReceiptSchema)));
  });

  test("CLT-1 the report says whether a chain is whole, cut, forged or out of order", async () => {
    // Given a chain, when it is whole, cut, forged or out of order, then the report says so.
    const { receipts, root } = sampleChain(7, key);
    assert.deepEqual(await verifyChain(receipts, keys), {
      valid: true,
      receipts: 7,
      failures: [],
      merkleRoot: root,
    });
    const cut = await verifyChain(receipts.toSpliced(3, 1), keys);
    assert.deepEqual([cut.valid, cut.failures[0]?.index], [false, 3]);
    const forged = await verifyChain(changedAt(receipts, 2), keys);
    assert.deepEqual([forged.valid, forged.failures.map(({ index }) => index)], [false, [2]]);
    const unreadable = await verifyChain([...receipts.slice(0, 2), "nothing"], keys);
    assert.deepEqual([unreadable.valid, unreadable.merkleRoot], [false, null]);
    assert.notEqual(
      (await verifyChain(receipts.slice(0, 5), keys)).merkleRoot,
      root,
      "only the root shows a short one",
    );
  });

  test("CLT-1 inclusion proofs of trees of every size verify as on the server", async () => {
    // Given inclusion proofs of trees of every size, when they are verified, then they hold as on the server.
    const hashes = sampleChain(9, key).receipts.map(({ chain }) => chain.receipt_hash);
    for (let treeSize = 1; treeSize <= hashes.length; treeSize++) {
      const root = rootAfter(hashes.slice(0, treeSize));
      for (let leafIndex = 0; leafIndex < treeSize; leafIndex++) {
        const path = await inclusionProof(nodesOf(hashes), leafIndex, treeSize);
        const proof = { receiptHash: hashes[leafIndex] ?? "", leafIndex, treeSize, path, root };
        assert.equal(await verifyInclusion(proof), true);
        for (const bad of [
          { ...proof, leafIndex: leafIndex + 1 },
          { ...proof, root: leafHash("x") },
          { ...proof, path: [...path, root] },
          { ...proof, path: path.slice(1) },
        ]) {
          assert.equal(await verifyInclusion(bad), inNode(bad));
        }
      }
    }
  });
});

function changedAt(receipts: readonly object[], index: number): object[] {
  return receipts.map((one, at) => (at === index ? { ...one, receipt_id: "receipt_other" } : one));
}

function rootAfter(hashes: readonly string[]): string {
  return rootOf(
    hashes.reduce<string[]>((frontier, hash, size) => appendLeaf(frontier, size, hash).frontier, []),
  );
}

function nodesOf(hashes: readonly string[]) {
  const node = async (level: number, index: number): Promise<string> => {
    if (level === 0) return leafHash(hashes[index] ?? "");
    return nodeHash(await node(level - 1, index * 2), await node(level - 1, index * 2 + 1));
  };
  return { node };
}

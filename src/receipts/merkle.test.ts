/** The tree is that of RFC 6962: by its recursive definition, by known roots, and by proofs that hold or break. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cases } from "../../test/runner/seed.ts";
import { sha256Of } from "./canonical.ts";
import {
  appendLeaf,
  type Frontier,
  inclusionProof,
  leafHash,
  nodeHash,
  rootFromNodes,
  rootOf,
  type TreeNodes,
  verifyInclusion,
} from "./merkle.ts";

/** The definition of section 2.1, word for word. */
function definedRoot(leaves: readonly string[]): string {
  const [first] = leaves;
  if (first === undefined) return sha256Of("");
  if (leaves.length === 1) return leafHash(first);
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(definedRoot(leaves.slice(0, k)), definedRoot(leaves.slice(k)));
}

/** The definition of section 2.1.1. */
function definedPath(index: number, leaves: readonly string[]): string[] {
  if (leaves.length <= 1) return [];
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  const [left, right] = [leaves.slice(0, k), leaves.slice(k)];
  return index < k
    ? [...definedPath(index, left), definedRoot(right)]
    : [...definedPath(index - k, right), definedRoot(left)];
}

/** A store of nothing but what appending gives: the leaves and the subtrees that each of them completes. */
class KeptNodes implements TreeNodes {
  readonly #nodes = new Map<string, string>();
  frontier: Frontier = [];
  size = 0;
  asked = 0;

  constructor(leaves: readonly string[]) {
    for (const leaf of leaves) this.add(leaf);
  }

  add(leaf: string): void {
    const { frontier, completed } = appendLeaf(this.frontier, this.size, leaf);
    for (const [i, root] of [leafHash(leaf), ...completed].entries()) {
      this.#nodes.set(`${i}/${Math.floor(this.size / 2 ** i)}`, root);
    }
    this.frontier = frontier;
    this.size += 1;
  }

  async node(level: number, index: number): Promise<string> {
    this.asked += 1;
    const node = this.#nodes.get(`${level}/${index}`);
    assert(node !== undefined, `node ${level}/${index} is not one of a perfect subtree`);
    return node;
  }
}

const receipts = (count: number) => Array.from({ length: count }, (_, i) => sha256Of(`receipt ${i}`));
const chain = fc.integer({ min: 1, max: 70 }).map(receipts);

describe("roots", () => {
  test("appending the test leaves of other implementations gives their roots", () => {
    // Given the leaves that other implementations test with, when they are appended, then the roots are theirs.
    const leaves = ["", "\0", "\x10", " !", "01", "@ABC", "PQRSTUVW", "`abcdefghijklmno"];
    const roots = [
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let frontier: Frontier = [];
    const found = leaves.map((leaf, size) => {
      frontier = appendLeaf(frontier, size, leaf).frontier;
      return rootOf(frontier);
    });
    assert.deepEqual(
      found,
      roots.map((root) => `sha256:${root}`),
    );
  });

  test("given no leaves, when the root is asked for, then it is the hash of nothing", async () => {
    const empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert.equal(rootOf([]), empty);
    assert.equal(await rootFromNodes(new KeptNodes([]), 0), empty);
  });

  test("appending leaves one by one gives the defined root every time", () => {
    // Given any number of leaves, when they are appended one by one, then every root is the defined one.
    const leaves = receipts(70);
    const kept = new KeptNodes([]);
    for (const [i, leaf] of leaves.entries()) {
      kept.add(leaf);
      assert.equal(rootOf(kept.frontier), definedRoot(leaves.slice(0, i + 1)));
    }
  });

  test("appending a leaf completes one subtree per trailing one bit of its index", () => {
    // Given a leaf at any place, when it is appended, then it completes as many subtrees as its place has ones at the
    // end.
    const leaves = receipts(70);
    let frontier: Frontier = [];
    for (const [i, leaf] of leaves.entries()) {
      const step = appendLeaf(frontier, i, leaf);
      const ones = /1*$/.exec(i.toString(2))?.[0].length ?? 0;
      const subtrees = Array.from({ length: ones }, (_, level) =>
        leaves.slice(i + 1 - 2 ** (level + 1), i + 1),
      );
      assert.deepEqual(step.completed, subtrees.map(definedRoot));
      frontier = step.frontier;
    }
  });

  test("given a frontier of another size, when a leaf is appended, then it is refused", () => {
    assert.throws(() => appendLeaf([], 1, sha256Of("x")), /frontier/);
  });
});

describe("proofs", () => {
  test("any leaf has the defined inclusion path, read from few nodes, and it verifies", async () => {
    // Given any leaf of any tree, when it is proven, then by the defined path, from few nodes, and it holds.
    const kept = new KeptNodes(receipts(70));
    await fc.assert(
      fc.asyncProperty(chain, fc.nat(), async (leaves, pick) => {
        const leafIndex = pick % leaves.length;
        const treeSize = leaves.length;
        kept.asked = 0;
        const path = await inclusionProof(kept, leafIndex, treeSize);
        const root = await rootFromNodes(kept, treeSize);
        assert(
          kept.asked <= 3 * Math.ceil(Math.log2(treeSize + 1)),
          `${kept.asked} nodes for ${treeSize} leaves`,
        );
        assert.deepEqual(path, definedPath(leafIndex, leaves));
        assert.equal(root, definedRoot(leaves));
        const receiptHash = leaves[leafIndex] ?? "";
        assert(verifyInclusion({ receiptHash, leafIndex, treeSize, path, root }));
      }),
      { numRuns: cases(500) },
    );
  });

  test("given a proof, when anything in it is changed, then it does not hold", async () => {
    const kept = new KeptNodes(receipts(70));
    const other = sha256Of("other");
    await fc.assert(
      fc.asyncProperty(chain, fc.nat(), fc.nat(), async (leaves, pick, at) => {
        const leafIndex = pick % leaves.length;
        const treeSize = leaves.length;
        const path = await inclusionProof(kept, leafIndex, treeSize);
        const proof = {
          receiptHash: leaves[leafIndex] ?? "",
          leafIndex,
          treeSize,
          path,
          root: await rootFromNodes(kept, treeSize),
        };
        const place = path.length === 0 ? 0 : at % path.length;
        const changed = [
          { ...proof, receiptHash: other },
          { ...proof, root: other },
          { ...proof, path: [...path, other] },
          { ...proof, leafIndex: treeSize },
          { ...proof, treeSize: leafIndex },
          ...(path.length === 0 ? [] : [{ ...proof, path: path.with(place, other) }]),
          ...(path.length === 0 ? [] : [{ ...proof, path: path.toSpliced(place, 1) }]),
          ...(path.length < 2 ? [] : [{ ...proof, path: path.toReversed() }]),
          ...(treeSize === 1 ? [] : [{ ...proof, leafIndex: (leafIndex + 1) % treeSize }]),
        ];
        for (const wrong of changed) assert.equal(verifyInclusion(wrong), false, JSON.stringify(wrong));
      }),
    );
  });

  test("a path of the wrong length for the tree size does not verify, even with the right root", () => {
    // Given a path of another length than the tree's size asks for, when its root is right, then it does not hold.
    const leaves = receipts(4);
    const [first = "", second = ""] = leaves;
    const root = definedRoot([first, second]);
    const path = [leafHash(first)];
    assert(verifyInclusion({ receiptHash: second, leafIndex: 1, treeSize: 2, path, root }));
    assert(!verifyInclusion({ receiptHash: second, leafIndex: 1, treeSize: 4, path, root }));
    assert(!verifyInclusion({ receiptHash: second, leafIndex: 0, treeSize: 1, path, root }));
  });

  test("given a root of a tree, when it is passed off as a leaf, then it is not found in the tree", () => {
    const [a, b] = receipts(2).map(leafHash);
    assert(a !== undefined && b !== undefined);
    const root = nodeHash(a, b);
    assert.equal(verifyInclusion({ receiptHash: root, leafIndex: 0, treeSize: 1, path: [], root }), false);
  });

  test("an arbitrary value as proof does not verify and never throws", () => {
    // Given anything at all, when it is verified as a proof, then the answer is no and nothing is thrown.
    const proof = fc.record({
      receiptHash: fc.oneof(fc.string(), fc.constant(sha256Of("a"))),
      leafIndex: fc.oneof(fc.double(), fc.integer()),
      treeSize: fc.oneof(fc.double(), fc.integer()),
      path: fc.array(fc.oneof(fc.string(), fc.constant(sha256Of("a"))), { maxLength: 60 }),
      root: fc.oneof(fc.string(), fc.constant(sha256Of("b"))),
    });
    fc.assert(fc.property(proof, (value) => assert.equal(verifyInclusion(value), false)));
    const nonsense: unknown[] = [{}, { path: null }, { leafIndex: 0, treeSize: 1, path: [1], root: null }];
    for (const value of nonsense) assert.equal(Reflect.apply(verifyInclusion, null, [value]), false);
  });

  test("given a leaf that the tree does not have, when a proof is asked for, then it is refused", async () => {
    await assert.rejects(inclusionProof(new KeptNodes(receipts(3)), 3, 3), RangeError);
  });
});

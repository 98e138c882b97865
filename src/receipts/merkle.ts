/**
 * The Merkle tree over the receipts of a chain (RFC 6962, section 2.1): appended to one leaf at a time, and proofs that a
 * receipt is in it. The data of a leaf is the ASCII text of a receipt's hash.
 *
 * Every hash that goes in or out here is written `sha256:<hex>`: leaves, nodes, frontiers, paths and roots alike.
 */

import { hash } from "node:crypto";
import { sha256Of } from "./canonical.ts";
import { auditSteps, type Inclusion, isPlace, leafText } from "./inclusion.ts";

/** The roots of the perfect subtrees that a tree of known size consists of, largest first. */
export type Frontier = readonly string[];

export interface TreeNodes {
  /** The root of the perfect subtree over the leaves from `index * 2^level`; level 0 are the leaf hashes. */
  node(level: number, index: number): Promise<string>;
}

/** A leaf and a node are hashed differently, so that neither can be passed off as the other. */
export function leafHash(receiptHash: string): string {
  return sha256Of(leafText(receiptHash));
}

export function nodeHash(left: string, right: string): string {
  const children = Buffer.from(`01${left.slice(prefixLength)}${right.slice(prefixLength)}`, "hex");
  return `sha256:${hash("sha256", children, "hex")}`;
}

/**
 * `size` is the number of leaves before this one. `completed` are the roots of the perfect subtrees that end with this
 * leaf, from level 1 upward: all that a store has to keep to give any node later.
 */
export function appendLeaf(
  frontier: Frontier,
  size: number,
  receiptHash: string,
): { frontier: string[]; completed: string[] } {
  const roots = [...frontier];
  const completed: string[] = [];
  let root = leafHash(receiptHash);
  for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    const left = roots.pop();
    if (left === undefined)
      throw new Error(`A frontier of ${frontier.length} roots is not one of ${size} leaves`);
    root = nodeHash(left, root);
    completed.push(root);
  }
  roots.push(root);
  return { frontier: roots, completed };
}

export function rootOf(frontier: Frontier): string {
  if (frontier.length === 0) return sha256Of("");
  return frontier.reduceRight((right, left) => nodeHash(left, right));
}

export async function rootFromNodes(nodes: TreeNodes, treeSize: number): Promise<string> {
  return treeSize === 0 ? sha256Of("") : await rangeRoot(nodes, 0, treeSize);
}

/** The audit path of section 2.1.1, the leaf's sibling first. */
export async function inclusionProof(
  nodes: TreeNodes,
  leafIndex: number,
  treeSize: number,
): Promise<string[]> {
  if (!isPlace(leafIndex, treeSize)) {
    throw new RangeError(`A tree of ${treeSize} leaves has no leaf ${leafIndex}`);
  }
  const siblings: Promise<string>[] = [];
  let start = 0;
  let size = treeSize;
  while (size > 1) {
    const half = leftSize(size);
    const isLeft = leafIndex < start + half;
    siblings.unshift(isLeft ? rangeRoot(nodes, start + half, size - half) : rangeRoot(nodes, start, half));
    if (!isLeft) start += half;
    size = isLeft ? half : size - half;
  }
  return await Promise.all(siblings);
}

/** That the tree of `first` leaves is the beginning of that of `second` (section 2.1.2). */
export async function consistencyProof(nodes: TreeNodes, first: number, second: number): Promise<string[]> {
  if (first === 0 || first === second) return [];
  const path: Promise<string>[] = [];
  let [start, size, left] = [0, second, first];
  // Whether what is left of the first tree is still all of it, so that whoever verifies knows its root.
  let isWhole = true;
  while (left !== size) {
    const half = leftSize(size);
    if (left <= half) {
      path.unshift(rangeRoot(nodes, start + half, size - half));
      size = half;
    } else {
      path.unshift(rangeRoot(nodes, start, half));
      [start, size, left, isWhole] = [start + half, size - half, left - half, false];
    }
  }
  if (!isWhole) path.unshift(rangeRoot(nodes, start, size));
  return await Promise.all(path);
}

/** Whatever is handed in, the answer is yes or no. */
export function verifyInclusion(inclusion: Inclusion): boolean {
  const steps = auditSteps(inclusion);
  if (steps === null) return false;
  const found = steps.reduce(
    (node, { side, sibling }) => (side === "left" ? nodeHash(sibling, node) : nodeHash(node, sibling)),
    leafHash(inclusion.receiptHash),
  );
  return found === inclusion.root;
}

const prefixLength = "sha256:".length;

/** The root over `size` leaves from `start`, which is a multiple of the largest power of two in `size`. */
async function rangeRoot(nodes: TreeNodes, start: number, size: number): Promise<string> {
  const half = leftSize(size);
  if (half * 2 === size || size === 1) return await nodes.node(Math.round(Math.log2(size)), start / size);
  const [left, right] = await Promise.all([
    rangeRoot(nodes, start, half),
    rangeRoot(nodes, start + half, size - half),
  ]);
  return nodeHash(left, right);
}

/** The largest power of two that is less than `size`: where section 2.1 divides a tree. */
function leftSize(size: number): number {
  let half = 1;
  while (half * 2 < size) half *= 2;
  return half;
}

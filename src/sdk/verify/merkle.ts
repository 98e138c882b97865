/** The Merkle tree of `receipts/merkle.ts`, hashed by WebCrypto. */

import { auditSteps, type Inclusion, leafText } from "../../receipts/inclusion.ts";
import { sha256Of } from "./crypto.ts";

/** Whatever is handed in, the answer is yes or no. */
export async function verifyInclusion(inclusion: Inclusion): Promise<boolean> {
  const steps = auditSteps(inclusion);
  if (steps === null) return false;
  let found = await leafHash(inclusion.receiptHash);
  for (const { side, sibling } of steps) {
    found = side === "left" ? await nodeHash(sibling, found) : await nodeHash(found, sibling);
  }
  return found === inclusion.root;
}

/** The roots of the perfect subtrees after one more leaf; `size` is the number of leaves before it. */
export async function withLeaf(
  frontier: readonly string[],
  size: number,
  receiptHash: string,
): Promise<string[]> {
  const roots = [...frontier];
  let root = await leafHash(receiptHash);
  for (let rest = size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    const left = roots.pop();
    if (left === undefined) throw new Error(`A frontier of ${frontier.length} is not one of ${size} leaves`);
    root = await nodeHash(left, root);
  }
  return [...roots, root];
}

export async function rootOf(frontier: readonly string[]): Promise<string> {
  const [last, ...others] = frontier.toReversed();
  if (last === undefined) return await sha256Of("");
  let root = last;
  for (const left of others) root = await nodeHash(left, root);
  return root;
}

function leafHash(receiptHash: string): Promise<string> {
  return sha256Of(leafText(receiptHash));
}

export function nodeHash(left: string, right: string): Promise<string> {
  return sha256Of(new Uint8Array([1, ...bytesOf(left), ...bytesOf(right)]));
}

const prefixLength = "sha256:".length;

function bytesOf(hash: string): number[] {
  return (hash.slice(prefixLength).match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16));
}

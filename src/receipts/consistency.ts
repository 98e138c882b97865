/**
 * How a proof is followed that a tree is the beginning of a later one (RFC 9162, section 2.1.4.2), apart from the hashing, which is
 * synchronous on a server and is not in a browser.
 */

import { sha256Pattern } from "../web/canonical-json.ts";

export interface Consistency {
  first: { size: number; root: string };
  second: { size: number; root: string };
  path: readonly string[];
}

/** Two hashes become one. */
export type NodeHash = (left: string, right: string) => string | Promise<string>;

const sha256Form = new RegExp(sha256Pattern);
/** A tree that a safe integer can count has no longer path. */
const pathMax = 110;

/** Whatever is handed in, the answer is yes or no. */
export async function isConsistent(proof: Consistency, nodeHash: NodeHash): Promise<boolean> {
  const { first, second, path } = proof;
  const hashes = [first.root, second.root, ...path];
  if (!isSize(first.size) || !isSize(second.size) || path.length > pathMax) return false;
  if (!hashes.every((hash) => typeof hash === "string" && sha256Form.test(hash))) return false;
  if (first.size > second.size) return false;
  if (first.size === second.size) return path.length === 0 && first.root === second.root;
  // Nothing is the beginning of everything.
  if (first.size === 0) return path.length === 0;
  return await follows(proof, nodeHash);
}

async function follows({ first, second, path }: Consistency, nodeHash: NodeHash): Promise<boolean> {
  const rest = isPowerOfTwo(first.size) ? [first.root, ...path] : [...path];
  let [node, last] = [first.size - 1, second.size - 1];
  while (node % 2 === 1) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  const start = rest.shift();
  if (start === undefined) return false;
  let [firstRoot, secondRoot] = [start, start];
  for (const hash of rest) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      firstRoot = await nodeHash(hash, firstRoot);
      secondRoot = await nodeHash(hash, secondRoot);
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)];
    } else {
      secondRoot = await nodeHash(secondRoot, hash);
    }
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && firstRoot === first.root && secondRoot === second.root;
}

function isSize(size: number): boolean {
  return Number.isSafeInteger(size) && size >= 0;
}

function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size));
}

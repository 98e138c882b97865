/**
 * How a proof that a receipt is in a tree is followed (RFC 9162, section 2.1.3.2), apart from the hashing, which is
 * synchronous on a server and is not in a browser.
 */

import { sha256Pattern } from "../web/canonical-json.ts";

export interface Inclusion {
  receiptHash: string;
  leafIndex: number;
  treeSize: number;
  /** The audit path, from the leaf's sibling up. */
  path: readonly string[];
  root: string;
}

export interface AuditStep {
  sibling: string;
  /** Where the sibling stands. */
  side: "left" | "right";
}

/** What the hash of a leaf is made over. */
export function leafText(receiptHash: string): string {
  return `\0${receiptHash}`;
}

/** From the leaf up to the root; null when no tree of this size has such a path. */
export function auditSteps({ receiptHash, leafIndex, treeSize, path, root }: Inclusion): AuditStep[] | null {
  if (!isPlace(leafIndex, treeSize) || !Array.isArray(path)) return null;
  if (![receiptHash, root, ...path].every(isSha256)) return null;
  const steps: AuditStep[] = [];
  let [index, last] = [leafIndex, treeSize - 1];
  for (const sibling of path) {
    if (last === 0) return null;
    if (index % 2 === 1 || index === last) {
      steps.push({ sibling, side: "left" });
      // The last node of a level that has no sibling rises until it is somebody's right child.
      while (index % 2 === 0 && index !== 0) [index, last] = [index / 2, Math.floor(last / 2)];
    } else {
      steps.push({ sibling, side: "right" });
    }
    [index, last] = [Math.floor(index / 2), Math.floor(last / 2)];
  }
  return last === 0 ? steps : null;
}

export function isPlace(leafIndex: number, treeSize: number): boolean {
  return (
    Number.isSafeInteger(leafIndex) &&
    Number.isSafeInteger(treeSize) &&
    leafIndex >= 0 &&
    leafIndex < treeSize
  );
}

const sha256Form = new RegExp(sha256Pattern);

function isSha256(value: unknown): boolean {
  return typeof value === "string" && sha256Form.test(value);
}

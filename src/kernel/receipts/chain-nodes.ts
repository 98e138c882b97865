/** The Merkle tree over a workspace's receipts, read from the store a node at a time. */

import { leafHash, nodeHash, type TreeNodes } from "../../receipts/merkle.ts";
import type { TenantStore } from "../../store/port.ts";
import { paginate } from "../core/paginate.ts";
import { type ReceiptRecord, type ReceiptTreeRecord, treeIdOf, treeNodeLevel } from "../kinds/receipt.ts";

const leavesPerNode = 2 ** treeNodeLevel;

export class ChainNodes implements TreeNodes {
  readonly #store: TenantStore;
  readonly #workspaceId: string;
  /** The leaves read so far, by stored node: a proof touches two or three of them, several times. */
  readonly #leaves = new Map<number, Promise<string[]>>();

  constructor(store: TenantStore, workspaceId: string) {
    this.#store = store;
    this.#workspaceId = workspaceId;
  }

  async node(level: number, index: number): Promise<string> {
    if (level >= treeNodeLevel) return await this.#storedRoot(level, index);
    const first = index * 2 ** level;
    const leaves = await this.#leavesOf(Math.floor(first / leavesPerNode));
    const within = first % leavesPerNode;
    return perfectRoot(leaves.slice(within, within + 2 ** level).map(leafHash), level);
  }

  /** The hash of the receipt at a place in the chain. */
  async receiptHash(index: number): Promise<string> {
    const leaves = await this.#leavesOf(Math.floor(index / leavesPerNode));
    const hash = leaves[index % leavesPerNode];
    if (hash === undefined) throw new Error(`The chain of ${this.#workspaceId} has no receipt ${index}`);
    return hash;
  }

  async #storedRoot(level: number, index: number): Promise<string> {
    const completedBy = (index + 1) * 2 ** (level - treeNodeLevel) - 1;
    const document = await this.#store.get("receipt_tree", treeIdOf(this.#workspaceId, completedBy));
    const root = (document?.body as ReceiptTreeRecord | undefined)?.roots[level - treeNodeLevel];
    if (root === undefined) throw new Error(`The tree of ${this.#workspaceId} has no node ${level}/${index}`);
    return root;
  }

  #leavesOf(node: number): Promise<string[]> {
    const known = this.#leaves.get(node) ?? this.#readLeaves(node);
    this.#leaves.set(node, known);
    return known;
  }

  async #readLeaves(node: number): Promise<string[]> {
    const first = node * leavesPerNode;
    const before = node === 0 ? undefined : treeIdOf(this.#workspaceId, node - 1);
    const bookmark = before === undefined ? undefined : await this.#store.get("receipt_tree", before);
    const hashes: string[] = [];
    const receipts = paginate(this.#store, {
      kind: "receipt",
      by: { workspaceId: this.#workspaceId },
      bornAfter: bookmark?.born,
    });
    for await (const page of receipts) {
      for (const { body } of page) {
        const { index, hash } = body as ReceiptRecord;
        if (index !== null && index >= first && index < first + leavesPerNode) hashes[index - first] = hash;
      }
      if (hashes.length === leavesPerNode) break;
    }
    return hashes;
  }
}

function perfectRoot(nodes: readonly string[], level: number): string {
  const [only] = nodes;
  if (level === 0 && only !== undefined) return only;
  const half = nodes.length / 2;
  return nodeHash(perfectRoot(nodes.slice(0, half), level - 1), perfectRoot(nodes.slice(half), level - 1));
}

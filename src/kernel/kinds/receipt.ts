/**
 * A receipt as the kernel finds it: where it belongs, what it is about, where it stands in its workspace's chain. The
 * signed text itself is in the event that issued it and nowhere else.
 *
 * Beside the receipts stand, for each workspace, the head of the chain and, every 64 receipts, the tree nodes that are
 * complete by then: with both, a proof for any receipt takes a handful of reads however long the chain is.
 */

import { appendLeaf } from "../../receipts/merkle.ts";
import type { Receipt } from "../../receipts/schema.ts";
import type { Content } from "../core/content.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Resource } from "./resource.ts";

export interface ReceiptRecord extends Resource<"receipt"> {
  workspace_id: string;
  session_id: string;
  task_id: string;
  subject: Receipt["subject"];
  hash: string;
  previous_hash: string | null;
  /** Its place in the workspace's chain from 0; null for a receipt that is in no chain of this server. */
  index: number | null;
}

export interface ReceiptChainRecord extends Resource<"receipt_chain"> {
  workspace_id: string;
  size: number;
  last_receipt_id: string | null;
  last_hash: string | null;
  /** The roots of the perfect subtrees of the tree so far, largest first. */
  frontier: readonly string[];
}

/** The roots of the perfect subtrees that are completed by the receipts up to this node, from 64 leaves upward. */
export interface ReceiptTreeRecord extends Resource<"receipt_tree"> {
  workspace_id: string;
  roots: readonly string[];
}

export interface ReceiptIssued {
  record: ReceiptRecord;
  receipt: Content<Receipt>;
  /** With the last leaf of 64: the roots it completes, from 64 leaves upward. */
  roots?: readonly string[];
}

/** Receipts under one stored tree node: 2 to the power of this. */
export const treeNodeLevel = 6;

export function chainIdOf(workspaceId: string): string {
  return `receipt_chain.${workspaceId}`;
}

export function treeIdOf(workspaceId: string, index: number): string {
  return `receipt_tree.${workspaceId}.${index}`;
}

export function newChain({ tenant_id, workspace_id, created_at }: ReceiptRecord): ReceiptChainRecord {
  return {
    id: chainIdOf(workspace_id),
    object: "receipt_chain",
    tenant_id,
    created_at,
    updated_at: created_at,
    metadata: {},
    workspace_id,
    size: 0,
    last_receipt_id: null,
    last_hash: null,
    frontier: [],
  };
}

/** What an issued receipt brings into being: its record, the chain with the first one, a tree node with every 64th. */
export function createdByReceipt({
  record,
  roots,
}: ReceiptIssued): (ReceiptRecord | ReceiptChainRecord | ReceiptTreeRecord)[] {
  const { tenant_id, workspace_id, created_at, index } = record;
  if (index === null) return [record];
  const tree: ReceiptTreeRecord[] =
    roots === undefined
      ? []
      : [
          {
            id: treeIdOf(workspace_id, index >> treeNodeLevel),
            object: "receipt_tree",
            tenant_id,
            created_at,
            updated_at: created_at,
            metadata: {},
            workspace_id,
            roots,
          },
        ];
  return [record, ...(index === 0 ? [newChain(record)] : []), ...tree];
}

export function foldReceiptChain(chain: ReceiptChainRecord, event: KernelEvent): ReceiptChainRecord {
  if (event.event !== "receipt.issued") return chain;
  const { record } = event.payload;
  return {
    ...chain,
    updated_at: event.createdAt,
    size: chain.size + 1,
    last_receipt_id: record.id,
    last_hash: record.hash,
    frontier: appendLeaf(chain.frontier, chain.size, record.hash).frontier,
  };
}

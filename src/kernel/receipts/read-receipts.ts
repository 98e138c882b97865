/** Reading receipts: the signed text, lists of them, and the proof that one is in its workspace's chain. */

import type { Caller } from "../../policy/caller.ts";
import { inclusionProof, rootFromNodes } from "../../receipts/merkle.ts";
import type { Receipt } from "../../receipts/schema.ts";
import type { TenantStore } from "../../store/port.ts";
import { requireScope } from "../access/authorize.ts";
import { readScope } from "../access/read-scopes.ts";
import { unseal } from "../core/content.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import { asKernelEvent } from "../core/events.ts";
import {
  findVisible,
  getRecord,
  type ListRequest,
  listRecords,
  type Page,
  type ReadDeps,
} from "../core/read.ts";
import { chainIdOf, type ReceiptChainRecord, type ReceiptRecord } from "../kinds/receipt.ts";
import { ChainNodes } from "./chain-nodes.ts";
import type { ReceiptProgress } from "./follower.ts";

/** A receipt is issued soon after what it is about: reading waits for it. */
export interface ReceiptDeps extends ReadDeps {
  receipts: ReceiptProgress;
}

async function getReceiptRecord(deps: ReceiptDeps, caller: Caller, id: string): Promise<ReceiptRecord> {
  requireScope(caller, readScope.receipt);
  await deps.receipts.caughtUp();
  return await getRecord(deps, caller, "receipt", id);
}

export async function getReceipt(deps: ReceiptDeps, caller: Caller, id: string): Promise<Receipt> {
  const { store } = deps;
  await getReceiptRecord(deps, caller, id);
  return await readReceipt(store.of(caller.tenantId), id);
}

/** The text that was signed, from the event that issued it. */
export async function readReceipt(store: TenantStore, id: string): Promise<Receipt> {
  const receipt = await findReceipt(store, id);
  if (receipt === undefined) throw notFound("receipt", id);
  return receipt;
}

/** The same, where a reader of something else has to do without it: none was issued, or it takes longer than a moment. */
export async function receiptSoon(
  { store, receipts }: ReceiptDeps,
  tenantId: string,
  id: string,
): Promise<Receipt | null> {
  await receipts.nearlyCaughtUp();
  return (await findReceipt(store.of(tenantId), id)) ?? null;
}

/** Nothing while its commit is not to be seen yet: lists can be ahead of the log. */
async function findReceipt(store: TenantStore, id: string): Promise<Receipt | undefined> {
  const document = await store.get("receipt", id);
  if (document === undefined) return undefined;
  const [stored] = await store.events({ after: document.born - 1, through: document.born, limit: 1 });
  // Its commit is not to be seen yet.
  if (stored === undefined) return undefined;
  const event = asKernelEvent(stored);
  if (event.event !== "receipt.issued" && event.event !== "vendor.bridle.receipt.imported")
    throw new Error(`Receipt ${id} has no event that issued it`);
  return await unseal(event.payload.receipt, store);
}

export async function listReceipts(
  deps: ReceiptDeps,
  caller: Caller,
  request: ListRequest,
): Promise<Page<Receipt>> {
  await deps.receipts.caughtUp();
  const page = await listRecords(deps, caller, "receipt", request);
  const receipts = await Promise.all(
    page.data.map(({ id }) => findReceipt(deps.store.of(caller.tenantId), id)),
  );
  const data = receipts.filter((receipt) => receipt !== undefined);
  return { data, nextCursor: page.nextCursor };
}

/** The receipts about a task: its approvals' and its own. Equal replays share one, which names the first of them. */
export async function listTaskReceipts(
  deps: ReceiptDeps,
  caller: Caller,
  request: ListRequest & { taskId: string },
): Promise<Page<Receipt>> {
  requireScope(caller, "receipts:read");
  const task = await findVisible(deps.store, caller, "task", request.taskId);
  if (task === undefined) throw notFound("task", request.taskId);
  const page = await listReceipts(deps, caller, request);
  const own = task.outcome?.receipt_id ?? null;
  if (own === null || page.data.length > 0 || request.cursor !== undefined) return page;
  return { data: [await readReceipt(deps.store.of(caller.tenantId), own)], nextCursor: null };
}

export interface ReceiptProof {
  object: "receipt_proof";
  receipt_id: string;
  receipt_hash: string;
  workspace_id: string;
  leaf_index: number;
  tree_size: number;
  merkle_root: string;
  /** The hashes beside the way from the leaf to the root, the leaf's neighbour first. */
  path: string[];
}

/** Against the whole chain, or as it was when it had `treeSize` receipts. */
export async function proveReceipt(
  deps: ReceiptDeps,
  caller: Caller,
  id: string,
  treeSize?: number,
): Promise<ReceiptProof> {
  const { store } = deps;
  const record = await getReceiptRecord(deps, caller, id);
  const { index, workspace_id, hash } = record;
  if (index === null) {
    throw new HarnessError("conflict", `Receipt ${id} is not in a chain of this server.`, {
      details: { receipt_id: id, subject: record.subject },
    });
  }
  const own = store.of(caller.tenantId);
  const sizeNow = await chainSize(own, workspace_id);
  const size = treeSize ?? sizeNow;
  if (size <= index || size > sizeNow) {
    throw new HarnessError(
      "invalid_request",
      `tree_size must be from ${index + 1} to the ${sizeNow} receipts there are.`,
      { param: "tree_size" },
    );
  }
  const nodes = new ChainNodes(own, workspace_id);
  return {
    object: "receipt_proof",
    receipt_id: id,
    receipt_hash: hash,
    workspace_id,
    leaf_index: index,
    tree_size: size,
    merkle_root: await rootFromNodes(nodes, size),
    path: await inclusionProof(nodes, index, size),
  };
}

export async function chainSize(store: TenantStore, workspaceId: string): Promise<number> {
  const document = await store.get("receipt_chain", chainIdOf(workspaceId));
  return (document?.body as ReceiptChainRecord | undefined)?.size ?? 0;
}

export async function chainOf(
  store: TenantStore,
  workspaceId: string,
): Promise<{ size: number; root: string }> {
  const size = await chainSize(store, workspaceId);
  return { size, root: await rootFromNodes(new ChainNodes(store, workspaceId), size) };
}

/** What the chain says must stand in a receipt; nothing for one that is in no chain here. */
export async function chainFacts(
  store: TenantStore,
  { index, workspace_id, previous_hash }: ReceiptRecord,
): Promise<{ previousHash: string | null; merkleRoot: string | null }> {
  if (index === null) return { previousHash: previous_hash, merkleRoot: null };
  const nodes = new ChainNodes(store, workspace_id);
  return {
    previousHash: index === 0 ? null : await nodes.receiptHash(index - 1),
    merkleRoot: await rootFromNodes(nodes, index),
  };
}

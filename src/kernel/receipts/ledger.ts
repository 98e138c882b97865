/**
 * Chains and signs receipts, in the commit that they belong to.
 *
 * A workspace's receipts form one chain in commit order. Commits are on their way to the disk side by side, so the head
 * is handed from one to the next in memory while any is under way, and read from the disk otherwise.
 *
 *   C1  From taking the head to giving the commit to the store nothing awaits: the chain's order is the store's order.
 *   C2  A commit expects the chain at the version it was built on, and the receipt before it to exist. When one fails,
 *       all that were built on it fail too and are decided again.
 */

import { type ReceiptBody, receiptHash } from "../../receipts/hash.ts";
import { appendLeaf, rootOf } from "../../receipts/merkle.ts";
import type { Receipt } from "../../receipts/schema.ts";
import type { Batch, Blob, NewEvent, Store, StoredEvent } from "../../store/port.ts";
import { seal } from "../content.ts";
import { asKernelEvent } from "../events.ts";
import { type AnyRecord, created, indexOf } from "../fold.ts";
import {
  chainIdOf,
  foldReceiptChain,
  newChain,
  type ReceiptChainRecord,
  type ReceiptIssued,
  type ReceiptRecord,
  treeNodeLevel,
} from "../resources/receipt.ts";
import type { Issuer } from "../signing.ts";
import { hashWhole } from "../well-formed.ts";
import type { ReceiptDraft } from "./drafts.ts";

/** A receipt that a unit of work wants to leave behind. Its event has its place in the batch and gets its payload here. */
export interface PendingReceipt {
  draft: ReceiptDraft;
  record: Omit<ReceiptRecord, "hash" | "previous_hash" | "index">;
  event: NewEvent;
  /** Null puts it into the workspace's chain; a replay continues from its source instead, wherever it is run. */
  after: { previousHash: string | null } | null;
}

/** The chain as the commits under way will leave it. */
interface Head {
  id: string;
  chain: ReceiptChainRecord | null;
  version: number;
  underWay: number;
}

export class ReceiptLedger {
  readonly #store: Store;
  readonly #issuer: Issuer;
  readonly #heads = new Map<string, Head>();

  constructor(store: Store, issuer: Issuer) {
    this.#store = store;
    this.#issuer = issuer;
  }

  async commit(batch: Batch, pending: readonly PendingReceipt[]): Promise<StoredEvent[]> {
    if (pending.length === 0) return await this.#store.commit(batch);
    const chained = pending.filter(({ after }) => after === null);
    const workspaces = new Map(chained.map(({ record }) => [record.workspace_id, record.tenant_id]));
    const heads = await this.#takeHeads(workspaces);
    try {
      for (const head of heads.values()) expectHead(batch, head);
      for (const receipt of pending) {
        const head = receipt.after === null ? heads.get(receipt.record.workspace_id) : undefined;
        this.#issue(batch, receipt, head);
      }
      for (const head of heads.values()) putChain(batch, head);
    } catch (error) {
      // The heads may be ahead of what will ever be committed.
      for (const workspaceId of heads.keys()) this.#heads.delete(workspaceId);
      throw error;
    }
    const committed = this.#store.commit(batch);
    for (const [workspaceId, head] of heads) this.#settle(workspaceId, head, committed);
    return await committed;
  }

  /** Gives up its turn only before the first head is taken (C1). */
  async #takeHeads(workspaces: ReadonlyMap<string, string>): Promise<Map<string, Head>> {
    const unknown = [...workspaces].filter(([id]) => !this.#heads.has(id));
    const loaded = await Promise.all(
      unknown.map(([id, tenantId]) => this.#store.of(tenantId).get("receipt_chain", chainIdOf(id))),
    );
    for (const [index, [id]] of unknown.entries()) {
      const document = loaded[index];
      if (this.#heads.has(id)) continue;
      const chain = document === undefined ? null : (document.body as ReceiptChainRecord);
      this.#heads.set(id, { id: chainIdOf(id), chain, version: document?.version ?? 0, underWay: 0 });
    }
    const heads = new Map([...workspaces.keys()].flatMap((id) => entryOf(id, this.#heads.get(id))));
    // A commit that failed meanwhile took its head with it.
    return heads.size === workspaces.size ? heads : await this.#takeHeads(workspaces);
  }

  #issue(batch: Batch, { draft, record, event, after }: PendingReceipt, head: Head | undefined): void {
    const chain = head?.chain ?? null;
    const size = chain?.size ?? 0;
    const previous = after === null ? (chain?.last_hash ?? null) : after.previousHash;
    const links = {
      previous_receipt_hash: previous,
      ...(after === null ? { merkle_root: rootOf(chain?.frontier ?? []) } : {}),
    };
    const issuer = after === null ? this.#issuer.describe() : this.#issuer.describeReplay();
    const receipt = hashWhole(draft, ({ schema, receipt_id, subject, ...rest }) =>
      this.#sign({ schema, receipt_id, subject, issuer, ...rest, chain: links }),
    );
    const hash = receipt.chain.receipt_hash;
    const index = after === null ? size : null;
    const blobs: Blob[] = [];
    const payload: ReceiptIssued = {
      record: { ...record, hash, previous_hash: previous, index },
      receipt: seal(receipt, blobs),
      ...(index === null ? {} : completedRoots(chain, index, hash)),
    };
    batch.blobs.push(...blobs.map((blob) => ({ tenantId: record.tenant_id, ...blob })));
    event.payload = payload;
    const issued = asKernelEvent(event);
    for (const made of created(issued)) if (made.object !== "receipt_chain") putNew(batch, made);
    if (head === undefined) return;
    head.chain = foldReceiptChain(chain ?? newChain(payload.record), issued);
  }

  #sign(body: ReceiptBody): Receipt {
    const { key } = this.#issuer;
    const receipt_hash = receiptHash(body);
    return {
      ...body,
      chain: { ...body.chain, receipt_hash },
      signatures: [{ key_id: key.kid, algorithm: "ed25519", signature: key.sign(receipt_hash) }],
    };
  }

  /** The head goes with the last commit that is under way, and at once with one that failed. */
  #settle(workspaceId: string, head: Head, committed: Promise<unknown>): void {
    head.underWay += 1;
    const drop = () => {
      if (this.#heads.get(workspaceId) === head) this.#heads.delete(workspaceId);
    };
    committed.then(() => {
      head.underWay -= 1;
      if (head.underWay === 0) drop();
    }, drop);
  }
}

function entryOf<K, V>(key: K, value: V | undefined): [K, V][] {
  return value === undefined ? [] : [[key, value]];
}

function completedRoots(
  chain: ReceiptChainRecord | null,
  index: number,
  hash: string,
): Pick<ReceiptIssued, "roots"> {
  const isLastOfNode = (index + 1) % (1 << treeNodeLevel) === 0;
  if (!isLastOfNode) return {};
  return { roots: appendLeaf(chain?.frontier ?? [], index, hash).completed.slice(treeNodeLevel - 1) };
}

function putNew(batch: Batch, record: AnyRecord): void {
  batch.expect.push({ kind: record.object, id: record.id, version: 0 });
  batch.put.push({ kind: record.object, id: record.id, index: indexOf(record), body: record });
}

/** What a commit builds on: this version of the chain, and its last receipt (C2). */
function expectHead(batch: Batch, { chain, id, version }: Head): void {
  batch.expect.push({ kind: "receipt_chain", id, version });
  if (chain === null || chain.last_receipt_id === null) return;
  batch.expect.push({ kind: "receipt", id: chain.last_receipt_id, version: 1 });
}

/** The chain's document, once a commit. */
function putChain(batch: Batch, head: Head): void {
  const { chain, id } = head;
  if (chain === null) throw new Error("A chain was taken and nothing was added to it");
  batch.put.push({ kind: chain.object, id, index: indexOf(chain), body: chain });
  head.version += 1;
}

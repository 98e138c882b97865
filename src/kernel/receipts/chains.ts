/**
 * Links, hashes and signs receipts. A workspace's receipts form one chain in the order of what they are about; beside it grows the
 * Merkle tree over them. Only the projection writes chains, so their heads stay in memory from one commit to the next.
 */

import { type ReceiptBody, receiptHash } from "../../receipts/hash.ts";
import { appendLeaf, rootOf } from "../../receipts/merkle.ts";
import type { Receipt } from "../../receipts/schema.ts";
import type { Batch, Blob, NewEvent, Store } from "../../store/port.ts";
import { seal } from "../core/content.ts";
import { asKernelEvent } from "../core/events.ts";
import { type AnyRecord, created, indexOf } from "../core/fold.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import {
  chainIdOf,
  foldReceiptChain,
  newChain,
  type ReceiptChainRecord,
  type ReceiptIssued,
  type ReceiptRecord,
  treeNodeLevel,
} from "../kinds/receipt.ts";
import type { ReceiptDraft } from "./drafts.ts";
import type { Issuer } from "./signing.ts";

/** A receipt before it has its place. */
export interface PendingReceipt {
  draft: ReceiptDraft;
  tenantId: string;
  workspaceId: string;
  sessionId: string;
  taskId: string;
  /** Null puts it into the workspace's chain; a replay continues from its source instead, wherever it is run. */
  after: { previousHash: string | null } | null;
}

/** Who signs, as it is now. */
export type ReceiptIssuer = Pick<Issuer, "key" | "describe" | "describeReplay">;

interface Head {
  id: string;
  chain: ReceiptChainRecord | null;
  /** The version on disk. */
  version: number;
}

/** Workspaces whose heads are remembered; others are read again. */
const headsMax = 1000;

export class ReceiptChains {
  readonly #store: Pick<Store, "of">;
  readonly #issuer: ReceiptIssuer;
  #heads = new Map<string, Head>();

  constructor(store: Pick<Store, "of">, issuer: ReceiptIssuer) {
    this.#store = store;
    this.#issuer = issuer;
  }

  /** What is remembered may be otherwise than what is on disk. */
  forget(): void {
    this.#heads.clear();
  }

  /** The batch that issues receipts, in their order. Once it is on disk, `settle` it; if it fails, `forget`. */
  async link(pending: readonly PendingReceipt[], at: string): Promise<{ batch: Batch; settle(): void }> {
    const batch: Batch = { expect: [], events: [], put: [], blobs: [] };
    const heads = new Map<string, Head>();
    for (const receipt of pending) {
      if (receipt.after === null && !heads.has(receipt.workspaceId))
        heads.set(receipt.workspaceId, await this.#headOf(receipt));
    }
    for (const receipt of pending) {
      const head = receipt.after === null ? heads.get(receipt.workspaceId) : undefined;
      this.#issue(batch, receipt, head, at);
    }
    for (const { id, chain, version } of heads.values()) {
      batch.expect.push({ kind: "receipt_chain", id, version });
      if (chain !== null) batch.put.push({ kind: chain.object, id, index: indexOf(chain), body: chain });
    }
    return {
      batch,
      settle: () => {
        for (const [workspaceId, head] of heads) this.#remember(workspaceId, head);
      },
    };
  }

  #remember(workspaceId: string, head: Head): void {
    if (this.#heads.size >= headsMax) this.#heads.clear();
    this.#heads.set(workspaceId, { ...head, version: head.version + 1 });
  }

  async #headOf({ workspaceId, tenantId }: PendingReceipt): Promise<Head> {
    const known = this.#heads.get(workspaceId);
    if (known !== undefined) return { ...known };
    const id = chainIdOf(workspaceId);
    const document = await this.#store.of(tenantId).get("receipt_chain", id);
    const chain = document === undefined ? null : (document.body as ReceiptChainRecord);
    return { id, chain, version: document?.version ?? 0 };
  }

  #issue(batch: Batch, pending: PendingReceipt, head: Head | undefined, at: string): void {
    const { draft, after } = pending;
    const chain = head?.chain ?? null;
    const previous = after === null ? (chain?.last_hash ?? null) : after.previousHash;
    const links = {
      previous_receipt_hash: previous,
      ...(after === null ? { merkle_root: rootOf(chain?.frontier ?? []) } : {}),
    };
    const issuer = after === null ? this.#issuer.describe() : this.#issuer.describeReplay();
    const receipt = hashWellFormed(draft, ({ schema, receipt_id, subject, ...rest }) =>
      this.#sign({ schema, receipt_id, subject, issuer, ...rest, chain: links }),
    );
    const hash = receipt.chain.receipt_hash;
    const index = after === null ? (chain?.size ?? 0) : null;
    const blobs: Blob[] = [];
    const payload: ReceiptIssued = {
      record: recordOf(pending, { hash, previous_hash: previous, index }),
      receipt: seal(receipt, blobs),
      ...(index === null ? {} : completedRoots(chain, index, hash)),
    };
    batch.blobs.push(...blobs.map((blob) => ({ tenantId: pending.tenantId, ...blob })));
    const event = issuedEvent(pending, payload, at);
    batch.events.push(event);
    const issued = asKernelEvent(event);
    for (const made of created(issued)) if (made.object !== "receipt_chain") putNew(batch, made);
    if (head !== undefined) head.chain = foldReceiptChain(chain ?? newChain(payload.record), issued);
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
}

function recordOf(
  { draft, tenantId, workspaceId, sessionId, taskId }: PendingReceipt,
  place: Pick<ReceiptRecord, "hash" | "previous_hash" | "index">,
): ReceiptRecord {
  return {
    id: draft.receipt_id,
    object: "receipt",
    tenant_id: tenantId,
    created_at: draft.issued_at,
    updated_at: draft.issued_at,
    metadata: {},
    workspace_id: workspaceId,
    session_id: sessionId,
    task_id: taskId,
    subject: draft.subject,
    ...place,
  };
}

function issuedEvent(
  { draft, tenantId, workspaceId, sessionId, taskId }: PendingReceipt,
  payload: ReceiptIssued,
  createdAt: string,
): NewEvent {
  return {
    event: "receipt.issued",
    resource: { object: "receipt", id: draft.receipt_id },
    tenantId,
    workspaceId,
    sessionId,
    taskId,
    actor: "system",
    createdAt,
    payload,
  };
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

/** Receipts, verified here: what a server says about its own receipts proves nothing. */

import {
  type Inclusion,
  isReceipt,
  type PublicJwk,
  parseStrictJson,
  publicKeysIn,
  type Receipt,
  type Verification,
  verifyReceipt,
} from "../verify/index.ts";
import { readJson, readText, unreadable } from "./answers.ts";
import { readLines } from "./json-lines.ts";
import { createListed, type Listed } from "./lists.ts";
import { segment, type Transport } from "./transport.ts";
import type { CallOptions, PageOptions, ReceiptProof, WriteOptions } from "./types.ts";

export interface VerifyReceipt extends CallOptions {
  /** The issuer's keys, as learnt from the issuer. Without any, those that the server publishes now. */
  keys?: readonly PublicJwk[];
}

export interface ReceiptSubject {
  object: "outcome" | "event" | "artifact" | "tool_call";
  id: string;
}

export interface ListReceipts extends PageOptions {
  workspaceId?: string;
  sessionId?: string;
  taskId?: string;
}

/** Newest first. */
export interface Receipts extends Listed<Receipt, ListReceipts> {
  get(id: string, options?: CallOptions): Promise<Receipt>;
  /** The receipt of an outcome, an event, an artifact or a tool call (`<task_id>/<step>`). It is issued once. */
  request(subject: ReceiptSubject, options?: WriteOptions): Promise<Receipt>;
  /** One of the server's by its id, or one from anywhere. */
  verify(receipt: string | Receipt, options?: VerifyReceipt): Promise<Verification>;
  /** What it takes to see that a receipt is in the chain of its workspace: for `verifyInclusion` of `bridle/verify`. */
  inclusion(id: string, options?: CallOptions): Promise<Inclusion>;
  /** The receipts of a workspace, oldest first, line by line after a header and the keys: for `bridle receipt verify`. */
  export(workspaceId: string, options?: CallOptions): AsyncGenerator<string, void, undefined>;
  /** The keys that the server publishes. */
  keys(options?: CallOptions): Promise<PublicJwk[]>;
}

export function createReceipts(transport: Transport): Receipts {
  /** In the one way in which it can be read; what it is worth is for the verification to say. */
  const read = async (id: string, signal: AbortSignal | undefined): Promise<unknown> => {
    const text = await transport.request(`/v1/receipts/${segment(id)}`, { signal }, readText);
    try {
      return parseStrictJson(text);
    } catch {
      throw unreadable("a receipt");
    }
  };
  const keys: Receipts["keys"] = async ({ signal } = {}) => {
    const found = publicKeysIn(await transport.request("/.well-known/jwks.json", { signal }, readJson));
    if (found === null) throw unreadable("a key set");
    return found;
  };
  return {
    ...createListed<Receipt, ListReceipts>(
      transport,
      "/v1/receipts",
      ({ workspaceId, sessionId, taskId }) => ({
        workspace_id: workspaceId,
        session_id: sessionId,
        task_id: taskId,
      }),
    ),
    async get(id, { signal } = {}) {
      const receipt = await read(id, signal);
      if (isReceipt(receipt) && receipt.receipt_id === id) return receipt;
      throw unreadable("the receipt that was asked for");
    },
    async request(subject, { signal, idempotencyKey } = {}) {
      const ask = { method: "POST", body: { subject }, idempotencyKey, signal } as const;
      const receipt: unknown = parseStrictJson(await transport.request("/v1/receipts", ask, readText));
      if (isReceipt(receipt) && receipt.subject.id === subject.id) return receipt;
      throw unreadable("the receipt that was asked for");
    },
    async verify(receipt, { keys: given, signal } = {}) {
      const value = typeof receipt === "string" ? await read(receipt, signal) : receipt;
      return await verifyReceipt(value, {
        keys: given ?? (await keys(signal === undefined ? {} : { signal })),
      });
    },
    async inclusion(id, { signal } = {}) {
      const proof = await transport.resource<ReceiptProof>(
        "receipt_proof",
        `/v1/receipts/${segment(id)}/proof`,
        {
          signal,
        },
      );
      const { receipt_hash, leaf_index, tree_size, path, merkle_root } = proof;
      return {
        receiptHash: receipt_hash,
        leafIndex: leaf_index,
        treeSize: tree_size,
        path,
        root: merkle_root,
      };
    },
    export: (workspaceId, options = {}) =>
      readLines(transport, `/v1/workspaces/${segment(workspaceId)}/receipts/export`, options),
    keys,
  };
}

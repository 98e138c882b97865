/** The head of a workspace's chain for others to remember, and the proof that it is the beginning of a later one. */

import type { Caller } from "../../policy/caller.ts";
import { formatNote } from "../../receipts/checkpoint.ts";
import { consistencyProof, rootFromNodes } from "../../receipts/merkle.ts";
import { signCheckpoint } from "../../receipts/sign-checkpoint.ts";
import { requireScope } from "../access/authorize.ts";
import { HarnessError } from "../core/errors.ts";
import { getRecord } from "../core/read.ts";
import type { Kernel } from "../kernel.ts";
import { ChainNodes } from "./chain-nodes.ts";
import { chainSize } from "./read-receipts.ts";

/** As it is now, or as it was when it had so many receipts; signed now. */
export async function readCheckpoint(
  kernel: Kernel,
  caller: Caller,
  workspaceId: string,
  size?: number,
): Promise<string> {
  const { nodes, sizeNow } = await chainFor(kernel, caller, workspaceId);
  const of = size ?? sizeNow;
  assertSize("size", of, sizeNow);
  const { issuer } = kernel;
  const origin = `${issuer.id}/${workspaceId}`;
  const checkpoint = { origin, size: of, root: await rootFromNodes(nodes, of) };
  return formatNote(signCheckpoint(checkpoint, issuer.key));
}

export interface ConsistencyProof {
  object: "consistency_proof";
  workspace_id: string;
  from: number;
  to: number;
  path: string[];
}

/** From an empty chain to all of it, where nothing else is said. */
export async function proveConsistency(
  kernel: Kernel,
  caller: Caller,
  workspaceId: string,
  { from = 0, to: wanted }: { from?: number | undefined; to?: number | undefined },
): Promise<ConsistencyProof> {
  const { nodes, sizeNow } = await chainFor(kernel, caller, workspaceId);
  const to = wanted ?? sizeNow;
  assertSize("to", to, sizeNow);
  assertSize("from", from, to);
  const path = await consistencyProof(nodes, from, to);
  return { object: "consistency_proof", workspace_id: workspaceId, from, to, path };
}

async function chainFor(
  kernel: Kernel,
  caller: Caller,
  workspaceId: string,
): Promise<{ nodes: ChainNodes; sizeNow: number }> {
  requireScope(caller, "receipts:read");
  await getRecord(kernel, caller, "workspace", workspaceId);
  await kernel.receipts.caughtUp();
  const store = kernel.store.of(caller.tenantId);
  return { nodes: new ChainNodes(store, workspaceId), sizeNow: await chainSize(store, workspaceId) };
}

function assertSize(param: string, size: number, sizeMax: number): void {
  if (size <= sizeMax) return;
  throw new HarnessError("invalid_request", `${param} must be at most ${sizeMax}: ${size} is beyond it.`, {
    param,
  });
}

/** Pairing with approvers, who they are, and the audit log of approvals. */

import type { ApproverKey } from "../../harp/core/approver-key.ts";
import type { AuditRecord } from "../../harp/core/audit.ts";
import { type GatewayLink, GatewayRefusal } from "../../harp/core/gateway-link.ts";
import { HarpError } from "../../harp/core/harp-error.ts";
import { pairingFingerprint, readApproverBundle } from "../../harp/core/keys.ts";
import type { PairingInitiated, PairingStatus } from "../../harp/core/wire.ts";
import type { Caller } from "../../policy/caller.ts";
import { requireScope } from "../access/authorize.ts";
import { HarnessError, notFound } from "../core/errors.ts";
import { asKernelEvent } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import type { KernelDeps } from "../core/unit.ts";
import { type ApproverRegistryRecord, approverRegistryId } from "../kinds/approver-registry.ts";
import { assertOurs, requireManager } from "./registry.ts";

export type Pairing = PairingStatus & { fingerprint: string | null };

export async function beginPairing(
  deps: KernelDeps,
  caller: Caller,
  { workspaceName }: { workspaceName?: string | undefined },
): Promise<PairingInitiated> {
  requireManager(caller);
  const { enforcerBundle, enforcerLabel } = deps.approvals;
  return await asked(() =>
    linkOf(deps, caller).initiatePairing({
      enforcerLabel,
      publicKey: enforcerBundle,
      ...(workspaceName === undefined ? {} : { workspaceName: deps.redactor.text(workspaceName) }),
    }),
  );
}

/** What has become of a pairing, with the fingerprint of the key that arrived, once one has. */
export async function readPairing(deps: KernelDeps, caller: Caller, nonce: string): Promise<Pairing> {
  requireScope(caller, "approvers:read");
  return await findPairing(deps, caller, nonce);
}

export interface ArrivedKey {
  approverId: string;
  bundle: string;
}

/** The key that arrived by a pairing, for whoever may take it into the list. */
export async function arrivedKey(deps: KernelDeps, caller: Caller, nonce: string): Promise<ArrivedKey> {
  requireManager(caller);
  const { state, approverId, publicKey } = await findPairing(deps, caller, nonce);
  if (approverId !== undefined && publicKey !== undefined) return { approverId, bundle: publicKey };
  throw new HarnessError("conflict", `There is no key to confirm: the pairing is ${state}.`, {
    details: { state },
  });
}

async function findPairing(deps: KernelDeps, caller: Caller, nonce: string): Promise<Pairing> {
  const status = await asked(() => linkOf(deps, caller).pairing(nonce));
  if (status === null) throw notFound("pairing", nonce);
  const fingerprint = status.publicKey === undefined ? null : await fingerprintOf(status.publicKey);
  return { ...status, fingerprint };
}

async function fingerprintOf(bundle: string): Promise<string | null> {
  try {
    const { ed25519, x25519 } = await readApproverBundle(bundle);
    return await pairingFingerprint(ed25519, x25519);
  } catch (error) {
    if (error instanceof HarpError) return null;
    throw error;
  }
}

export async function listApprovers(deps: KernelDeps, caller: Caller): Promise<readonly ApproverKey[]> {
  requireScope(caller, "approvers:read");
  const document = await deps.store
    .of(caller.tenantId)
    .get("approver_registry", approverRegistryId(caller.tenantId));
  if (document === undefined) return [];
  // Written by the kernel; whether by this one is what the code says.
  const registry = document.body as ApproverRegistryRecord;
  try {
    assertOurs(deps, registry);
  } catch (error) {
    if (!(error instanceof HarpError)) throw error;
    throw new HarnessError("policy_violation", error.message, { details: { rule: "key_store" } });
  }
  return registry.keys;
}

/** From the first record on. */
export async function* readAudit(deps: KernelDeps, caller: Caller): AsyncGenerator<AuditRecord> {
  requireScope(caller, "approvers:read");
  for await (const events of readLog(deps.store.of(caller.tenantId), { after: 0 })) {
    for (const event of events.map(asKernelEvent)) {
      if (event.event === "vendor.bridle.approvals.audited") yield event.payload.record;
    }
  }
}

export function linkOf(deps: KernelDeps, { tenantId }: Caller): GatewayLink {
  const link = deps.approvals.linkOf(tenantId);
  if (link !== null) return link;
  throw new HarnessError("service_unavailable", "This tenant has no gateway for approvals on this server.");
}

/** A gateway's refusal in the words of this API. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof GatewayRefusal)) throw error;
    const code = error.status === 429 ? "rate_limited" : "upstream_unavailable";
    throw new HarnessError(code, `The gateway refused: ${error.message}`, {
      details: { gateway_code: error.code },
    });
  }
}

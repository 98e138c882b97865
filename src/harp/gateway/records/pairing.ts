/** A pairing as it is kept, and the code that leads to it for as long as somebody may use it. */

import type { NewDocument } from "../../../store/port.ts";
import type { PairingStatus } from "../../core/wire.ts";
import { fingerprint } from "../secrets.ts";

export const pairingKind = "pairing";
export const codeKind = "pairing_code";

/** How long after it is over an enforcer can still ask how it ended. */
const keptMs = 24 * 60 * 60 * 1000;

export interface Pairing {
  tenantId: string;
  enforcerId: string;
  enforcerLabel: string | undefined;
  workspaceName: string | undefined;
  publicKey: string | undefined;
  nonce: string;
  state: "initiated" | "resolved" | "completed";
  expiresAtMs: number;
  /** Who traded the code in, and alone may complete it. */
  resolvedBy: string | null;
  completed: { approverId: string; publicKey?: string; routingToken: string; completedAt: string } | null;
}

/** What is completed stays so; everything else ends with its time. */
export function stateAt({ state, expiresAtMs }: Pairing, nowMs: number): PairingStatus["state"] {
  return state !== "completed" && nowMs > expiresAtMs ? "expired" : state;
}

export function pairingId(tenantId: string, nonce: string): string {
  return `pairing:${JSON.stringify([tenantId, fingerprint(nonce)])}`;
}

export function codeDocumentId(tenantId: string, code: string): string {
  return `code:${JSON.stringify([tenantId, fingerprint(code)])}`;
}

export function pairingDocument(pairing: Pairing): NewDocument {
  const { tenantId, nonce, expiresAtMs } = pairing;
  return {
    kind: pairingKind,
    id: pairingId(tenantId, nonce),
    index: { tenantId, isListed: false, wakeAt: expiresAtMs + keptMs },
    body: pairing,
  };
}

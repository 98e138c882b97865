/**
 * Routing tokens: what a pairing promised, that requests of this enforcer which bring the token go to that approver. Only a
 * hash is kept here; the pairing has the token itself for as long as the enforcer may still have to be told.
 */

import { type Batch, VersionConflict } from "../store/port.ts";
import type { GatewayDeps } from "./deps.ts";
import { actorOf, type Mailbox, type Principal, requireRole } from "./principal.ts";
import { refusal } from "./refusals.ts";
import { fingerprint } from "./secrets.ts";
import { timeText } from "./times.ts";

const tokenKind = "routing_token";

interface RoutingToken {
  tenantId: string;
  enforcerId: string;
  approverId: string;
  createdAt: string;
  revokedAt: string | null;
}

/** What a commit adds when the token is given out. */
export function newToken(
  token: string,
  promise: Omit<RoutingToken, "revokedAt">,
): Pick<Batch, "expect" | "put"> {
  const id = documentId(token);
  const { tenantId } = promise;
  const body: RoutingToken = { ...promise, revokedAt: null };
  return {
    expect: [{ kind: tokenKind, id, version: 0 }],
    put: [{ kind: tokenKind, id, index: { tenantId, isListed: false }, body }],
  };
}

/** The approver that the token leads to, for the enforcer that it was made for and nobody else. */
export async function approverBehind(
  { store }: GatewayDeps,
  { tenantId, id: enforcerId }: Mailbox,
  token: string,
): Promise<string | null> {
  const stored = await store.of(tenantId).get(tokenKind, documentId(token));
  if (stored === undefined) return null;
  const promise = stored.body as RoutingToken;
  const isTheirs = promise.tenantId === tenantId && promise.enforcerId === enforcerId;
  return isTheirs && promise.revokedAt === null ? promise.approverId : null;
}

/** The token routes nothing any more. What was revoked before stays so. */
export async function revokeToken(deps: GatewayDeps, principal: Principal, token: string): Promise<void> {
  requireRole(principal, "enforcer");
  const { store, now } = deps;
  const { tenantId } = principal;
  const id = documentId(token);
  const stored = await store.of(tenantId).get(tokenKind, id);
  const promise = stored?.body as RoutingToken | undefined;
  const isTheirs = promise?.tenantId === tenantId && promise.enforcerId === principal.id;
  if (stored === undefined || promise === undefined || !isTheirs) {
    throw refusal("PairingNotFound", "No pairing of yours gave this token.");
  }
  if (promise.revokedAt !== null) return;
  const revokedAt = timeText(now());
  const event = {
    event: "routing_token.revoked",
    resource: { object: tokenKind, id },
    tenantId,
    workspaceId: null,
    sessionId: null,
    taskId: null,
    actor: actorOf(principal),
    createdAt: revokedAt,
    payload: { approverId: promise.approverId },
  };
  try {
    await store.commit({
      expect: [{ kind: tokenKind, id, version: stored.version }],
      events: [event],
      put: [{ kind: tokenKind, id, index: { tenantId, isListed: false }, body: { ...promise, revokedAt } }],
      blobs: [],
    });
  } catch (error) {
    // The only change there is was made by somebody else meanwhile.
    if (!(error instanceof VersionConflict)) throw error;
  }
}

function documentId(token: string): string {
  return `token:${fingerprint(token)}`;
}

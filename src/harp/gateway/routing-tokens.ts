/**
 * Routing tokens: what a pairing promised, that requests of this enforcer which bring the token go to that approver. Only a
 * hash is kept here; the pairing has the token itself for as long as the enforcer may still have to be told.
 */

import { type Batch, type StoredDocument, VersionConflict } from "../../store/port.ts";
import type { GatewayDeps } from "./deps.ts";
import { actorOf, type Mailbox, type Principal, type Role } from "./principal.ts";
import { refusal } from "./refusals.ts";
import { fingerprint } from "./secrets.ts";
import { timeText } from "./times.ts";

const tokenKind = "routing_token";
/** Pairings of one enforcer with one approver that are looked through. */
const pairingsMax = 1000;

interface RoutingToken {
  tenantId: string;
  enforcerId: string;
  approverId: string;
  createdAt: string;
  revokedAt: string | null;
  revokedBy?: Role;
}

/** What a commit adds when the token is given out. */
export function newToken(
  token: string,
  promise: Omit<RoutingToken, "revokedAt" | "revokedBy">,
): Pick<Batch, "expect" | "put"> {
  const id = documentId(token);
  return {
    expect: [{ kind: tokenKind, id, version: 0 }],
    put: [tokenDocument(id, { ...promise, revokedAt: null })],
  };
}

/** The approver that the token leads to, for the enforcer that it was made for and nobody else. */
export async function approverBehind(
  deps: GatewayDeps,
  { tenantId, id: enforcerId }: Mailbox,
  token: string,
): Promise<string | null> {
  const promise = await promiseOf(deps, tenantId, token);
  if (promise?.enforcerId !== enforcerId) return null;
  if (promise.revokedAt !== null) throw pairingRevoked();
  return promise.approverId;
}

/** When the pairing that gave the token was revoked; null while it holds. */
export async function revokedAt(deps: GatewayDeps, tenantId: string, token: string): Promise<string | null> {
  return (await promiseOf(deps, tenantId, token))?.revokedAt ?? null;
}

/** An approver who revoked the last pairing with an enforcer is not asked by that enforcer by name either. */
export async function requireWanted(
  deps: GatewayDeps,
  { tenantId, id: enforcerId }: Mailbox,
  approverId: string,
): Promise<void> {
  const promises = (await between(deps, { tenantId, enforcerId, approverId })).map(bodyOf);
  const isPaired = promises.some((promise) => promise.revokedAt === null);
  if (!isPaired && promises.some(({ revokedBy }) => revokedBy === "approver")) throw pairingRevoked();
}

/** Either side of a pairing takes it back. What was revoked before stays so. */
export async function revokePairing(
  deps: GatewayDeps,
  { role, ...principal }: Principal,
  wanted: { routingToken: string } | { enforcerId: string },
): Promise<void> {
  if (role === "admin") throw refusal("Forbidden", "This is for enforcers and approvers only.");
  const by: Mailbox = { role, ...principal };
  const found =
    "routingToken" in wanted ? await named(deps, by, wanted.routingToken) : await allWith(deps, by, wanted);
  if (found.length === 0) throw refusal("PairingNotFound", "There is no such pairing of yours.");
  for (const stored of found) await revoke(deps, by, stored);
}

async function named({ store }: GatewayDeps, by: Mailbox, token: string): Promise<StoredDocument[]> {
  const stored = await store.of(by.tenantId).get(tokenKind, documentId(token));
  if (stored === undefined) return [];
  const { enforcerId, approverId } = bodyOf(stored);
  return (by.role === "enforcer" ? enforcerId : approverId) === by.id ? [stored] : [];
}

async function allWith(
  deps: GatewayDeps,
  by: Mailbox,
  { enforcerId }: { enforcerId: string },
): Promise<StoredDocument[]> {
  if (by.role !== "approver")
    throw refusal("ValidationError", "Say which pairing: routingToken.", { param: "routingToken" });
  return await between(deps, { tenantId: by.tenantId, enforcerId, approverId: by.id });
}

async function revoke(
  { store, now }: GatewayDeps,
  by: Mailbox,
  { id, version, body }: StoredDocument,
): Promise<void> {
  const promise = body as RoutingToken;
  if (promise.revokedAt !== null) return;
  const { tenantId, enforcerId, approverId } = promise;
  const createdAt = timeText(now());
  const event = {
    ...{ event: "routing_token.revoked", resource: { object: tokenKind, id }, tenantId },
    ...{ workspaceId: null, sessionId: null, taskId: null, actor: actorOf(by), createdAt },
    payload: { enforcerId, approverId },
  };
  const next: RoutingToken = { ...promise, revokedAt: createdAt, revokedBy: by.role };
  try {
    await store.commit({
      expect: [{ kind: tokenKind, id, version }],
      events: [event],
      put: [tokenDocument(id, next)],
      blobs: [],
    });
  } catch (error) {
    // The only change there is was made by somebody else meanwhile.
    if (!(error instanceof VersionConflict)) throw error;
  }
}

function tokenDocument(id: string, body: RoutingToken) {
  const { tenantId } = body;
  return { kind: tokenKind, id, index: { tenantId, isListed: false, ownerId: pairId(body) }, body };
}

type Pair = Pick<RoutingToken, "tenantId" | "enforcerId" | "approverId">;

async function between({ store }: GatewayDeps, pair: Pair): Promise<StoredDocument[]> {
  const by = { ownerId: pairId(pair) };
  return await store
    .of(pair.tenantId)
    .list({ kind: tokenKind, by, order: "newest_first", limit: pairingsMax });
}

async function promiseOf(
  { store }: GatewayDeps,
  tenantId: string,
  token: string,
): Promise<RoutingToken | null> {
  const stored = await store.of(tenantId).get(tokenKind, documentId(token));
  return stored === undefined ? null : bodyOf(stored);
}

/** What is in the store was written here. */
function bodyOf({ body }: StoredDocument): RoutingToken {
  return body as RoutingToken;
}

function pairId({ tenantId, enforcerId, approverId }: Pair): string {
  return JSON.stringify([tenantId, "pair", enforcerId, approverId]);
}

function documentId(token: string): string {
  return `token:${fingerprint(token)}`;
}

function pairingRevoked(): Error {
  return refusal("PairingRevoked", "This pairing was revoked. Pair again to ask this approver.");
}

/**
 * An exchange as it is kept: one document that everything is decided by, and what follows from it, an entry in the inbox
 * of each approver and in that of the enforcer. The entries hold nothing of their own, so they are never wrong for
 * longer than a commit takes, which is not at all.
 */

import type { NewDocument } from "../../../store/port.ts";
import type { Ciphertext, DecisionBody, ExchangeState, Metadata } from "../../core/wire.ts";
import type { Mailbox } from "../principal.ts";

export type AckStatus = "received" | "processed";

/** An approver who was chosen, and the message to it. */
export interface Chosen {
  approverId: string;
  msgId: string;
  acked: AckStatus | null;
  /** It took the item out of its inbox; it may still decide. */
  isDismissed: boolean;
}

export interface AcceptedDecision {
  body: DecisionBody;
  approverId: string;
  msgId: string;
  decidedAt: string;
  acked: AckStatus | null;
}

/** What cannot be read here: in the document itself, or in a blob of its own when it is large. */
export type Sealed = { ciphertext: Ciphertext } | { sha256: string; bytes: number };

export interface Exchange {
  /** Never used again, unlike a requestId, which is free again once the exchange is forgotten. */
  uid: string;
  tenantId: string;
  requestId: string;
  enforcerId: string;
  state: ExchangeState;
  artifactType: string;
  /** As it was submitted, with or without its prefix. */
  artifactHash: string;
  sealed: Sealed;
  /** What approvers are shown; null when nothing is left of it. */
  metadata: Metadata | null;
  refreshOf: string | null;
  createdAt: string;
  /** As it was submitted. */
  expiresAt: string;
  expiresAtMs: number;
  approvers: Chosen[];
  decision: AcceptedDecision | null;
  /** When it left PendingApproval. */
  endedAtMs: number | null;
}

export interface ExchangeRef {
  tenantId: string;
  requestId: string;
}

export const exchangeKind = "exchange";
/** An approval request in an approver's inbox. */
export const itemKind = "inbox_item";
/** A decision in an enforcer's inbox that was not acknowledged. */
export const deliveryKind = "delivery";

/** What an inbox holds of an exchange: enough to find it, to tell whether it is due, and to page by. */
export interface InboxEntry {
  requestId: string;
  msgId: string;
  status: EntryStatus;
  createdAtMs: number;
  expiresAtMs: number;
  /** The version of the exchange that it follows from. */
  version: number;
}

/** An item that was acknowledged is not sent again, but stays listed. */
export type EntryStatus = "unacked" | "acked" | "expired";

export function exchangeId({ tenantId, requestId }: ExchangeRef): string {
  return `exchange:${JSON.stringify([tenantId, requestId])}`;
}

/** What an inbox is found by in the store. */
export function ownerId({ tenantId, role, id }: Mailbox): string {
  return `${role}:${JSON.stringify([tenantId, id])}`;
}

export function entryId(mailbox: Mailbox, requestId: string): string {
  return `entry:${ownerId(mailbox)}:${JSON.stringify(requestId)}`;
}

export function hashOf({ artifactHash }: { artifactHash: string }): string {
  return artifactHash.replace(/^sha256:/, "");
}

export function isOverdue({ state, expiresAtMs }: Exchange, nowMs: number): boolean {
  return state === "pendingApproval" && nowMs > expiresAtMs;
}

/** When everything about it leaves the store; null while it is pending. */
export function forgottenAt({ endedAtMs, expiresAtMs }: Exchange, retainMs: number): number | null {
  return endedAtMs === null ? null : Math.max(endedAtMs + retainMs, expiresAtMs);
}

export function chosenIn({ approvers }: Exchange, approverId: string): Chosen | undefined {
  return approvers.find((chosen) => chosen.approverId === approverId);
}

export function approverMailbox({ tenantId }: Exchange, approverId: string): Mailbox {
  return { tenantId, role: "approver", id: approverId };
}

export function enforcerMailbox({ tenantId, enforcerId }: Exchange): Mailbox {
  return { tenantId, role: "enforcer", id: enforcerId };
}

/** The document of the exchange itself. */
export function exchangeDocument(exchange: Exchange, retainMs: number): NewDocument {
  const { tenantId, state, expiresAtMs } = exchange;
  const id = exchangeId(exchange);
  return {
    kind: exchangeKind,
    id,
    // A time that has come is one that is over: the last millisecond still counts.
    index: { tenantId, status: state, wakeAt: forgottenAt(exchange, retainMs) ?? expiresAtMs + 1 },
    body: exchange,
  };
}

/** The entries that follow from it in this version, by their ids. */
export function entriesOf(exchange: Exchange, version: number): Map<string, NewDocument> {
  const { state, decision, approvers, createdAt } = exchange;
  const entries = new Map<string, NewDocument>();
  const add = (kind: string, mailbox: Mailbox, entry: Pick<InboxEntry, "msgId" | "status">, at: string) => {
    const createdAtMs = Date.parse(at);
    const document = entryDocument(exchange, kind, mailbox, { ...entry, createdAtMs, version });
    entries.set(document.id, document);
  };
  if (state === "pendingApproval" || state === "expired") {
    for (const { approverId, msgId, acked, isDismissed } of approvers) {
      if (isDismissed) continue;
      const status = state === "expired" ? "expired" : acked === null ? "unacked" : "acked";
      add(itemKind, approverMailbox(exchange, approverId), { msgId, status }, createdAt);
    }
  }
  if (state === "decided" && decision !== null) {
    const { msgId, decidedAt } = decision;
    add(deliveryKind, enforcerMailbox(exchange), { msgId, status: "unacked" }, decidedAt);
  }
  return entries;
}

function entryDocument(
  exchange: Exchange,
  kind: string,
  mailbox: Mailbox,
  entry: Omit<InboxEntry, "requestId" | "expiresAtMs">,
): NewDocument {
  const { tenantId, requestId, expiresAtMs } = exchange;
  const body: InboxEntry = { requestId, expiresAtMs, ...entry };
  return {
    kind,
    id: entryId(mailbox, requestId),
    index: { tenantId, isListed: false, ownerId: ownerId(mailbox), status: entry.status },
    body,
  };
}

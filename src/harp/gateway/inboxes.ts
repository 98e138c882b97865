/**
 * Inboxes, page by page: what waits for an approver, what it let expire, and the decisions that an enforcer has not
 * acknowledged. In the order in which they were made, which is that of their times.
 */

import type { StoredDocument } from "../../store/port.ts";
import type { ApprovalRequest, DecisionDeliver, InboxItem, InboxPage } from "../core/wire.ts";
import type { Change } from "./exchanges.ts";
import type { Gateway } from "./gateway.ts";
import { actorOf, type Mailbox } from "./principal.ts";
import {
  chosenIn,
  deliveryKind,
  type EntryStatus,
  entryId,
  type InboxEntry,
  itemKind,
  ownerId,
} from "./records/exchange.ts";
import { refusal } from "./refusals.ts";
import { sealedBytes } from "./sealed.ts";
import { expireOverdue } from "./sweep.ts";

export const pageItemsMax = 100;
export const pageItemsDefault = 50;
/** A page ends early when what is in it has this size: a hundred artifacts of two megabytes are no answer. */
const pageBytesMax = 4 * 1024 * 1024;

export type InboxName = "pending" | "expired" | "undelivered";

const statuses: Record<InboxName, EntryStatus[]> = {
  pending: ["unacked", "acked"],
  expired: ["expired"],
  undelivered: ["unacked"],
};

const shownStatus: Record<InboxName, InboxItem["status"]> = {
  pending: "Pending",
  expired: "Expired",
  undelivered: "Undelivered",
};

export interface PageRequest {
  cursor?: string | undefined;
  limit: number;
}

export async function inboxPage(
  gateway: Gateway,
  mailbox: Mailbox,
  name: InboxName,
  { cursor, limit }: PageRequest,
): Promise<InboxPage> {
  const beyond = cursor === undefined ? null : readCursor(cursor, mailbox);
  // Whatever is overdue by now is in the other list.
  if (mailbox.role === "approver") await expireOverdue(gateway);
  const found = await entriesIn(gateway, mailbox, statuses[name], beyond, limit + 1);
  const items: InboxItem[] = [];
  let last: Entry | null = null;
  let bytes = 0;
  for (const entry of found.slice(0, limit)) {
    const message = await messageOf(gateway, mailbox, entry);
    if (message !== null) {
      if (items.length > 0 && bytes + message.bytes > pageBytesMax) break;
      bytes += message.bytes;
      items.push(itemOf(shownStatus[name], message));
    }
    last = entry;
  }
  const isMore = last !== null && last.id !== found.at(-1)?.id;
  const recipient = mailbox.role === "approver" ? { approverId: mailbox.id } : { enforcerId: mailbox.id };
  return gateway.envelopes.inboxPage(recipient, items, isMore && last !== null ? writeCursor(last) : null);
}

/** Takes an item out of an approver's inbox. The exchange goes on without it. */
export async function dismiss(gateway: Gateway, approver: Mailbox, requestId: string): Promise<void> {
  const ref = { tenantId: approver.tenantId, requestId };
  await gateway.exchanges.change(ref, (exchange): Change<void> => {
    const chosen = exchange === null ? undefined : chosenIn(exchange, approver.id);
    const isListed = exchange?.state === "pendingApproval" || exchange?.state === "expired";
    if (exchange === null || chosen === undefined || chosen.isDismissed || !isListed) {
      throw refusal("InboxItemNotFound", "There is no such item in this inbox.");
    }
    const approvers = exchange.approvers.map((each) =>
      each === chosen ? { ...each, isDismissed: true } : each,
    );
    const write = {
      next: { ...exchange, approvers },
      event: "exchange.dismissed",
      actor: actorOf(approver),
    };
    return { result: undefined, write };
  });
}

/** An entry as it is in the store, and where. */
export interface Entry extends InboxEntry {
  id: string;
  born: number;
}

export type Place = Pick<Entry, "born" | "id">;

export async function entriesIn(
  { deps }: Gateway,
  mailbox: Mailbox,
  wanted: readonly EntryStatus[],
  beyond: Place | null,
  limit: number,
): Promise<Entry[]> {
  const documents = await deps.store.of(mailbox.tenantId).list({
    kind: mailbox.role === "approver" ? itemKind : deliveryKind,
    by: { ownerId: ownerId(mailbox) },
    statuses: wanted,
    order: "oldest_first",
    beyond: beyond ?? undefined,
    limit,
  });
  return documents.map(entryOf);
}

export interface Message {
  envelope: ApprovalRequest | DecisionDeliver;
  bytes: number;
  /** Whether it is still to be told: it was not acknowledged, and it is still about something. */
  isWaiting: boolean;
}

/** What the entry stands for; null when it is gone by now. */
export async function messageOf(
  { exchanges, envelopes }: Gateway,
  { tenantId, role, id }: Mailbox,
  { requestId, msgId, version }: InboxEntry,
): Promise<Message | null> {
  const exchange = await exchanges.stored({ tenantId, requestId }, version);
  if (exchange === null) return null;
  const bytes = sealedBytes(exchange.sealed);
  if (role === "enforcer") {
    const { decision } = exchange;
    if (decision?.msgId !== msgId) return null;
    const isWaiting = exchange.state === "decided";
    return { envelope: envelopes.decisionDeliver(exchange, decision), bytes: decisionBytes, isWaiting };
  }
  const chosen = chosenIn(exchange, id);
  const ciphertext = chosen?.msgId === msgId ? await exchanges.ciphertextOf(exchange) : null;
  if (chosen === undefined || ciphertext === null) return null;
  const isWaiting = exchange.state === "pendingApproval" && chosen.acked === null && !chosen.isDismissed;
  return { envelope: envelopes.approvalRequest(exchange, chosen, ciphertext), bytes, isWaiting };
}

/** About what a delivery takes on the wire. */
const decisionBytes = 4 * 1024;

function itemOf(status: InboxItem["status"], { envelope }: Message): InboxItem {
  const { requestId, msgId, createdAt, expiresAt = "" } = envelope;
  return { requestId, msgId, status, createdAt, expiresAt, envelope };
}

/** What is in the store was written here. */
function entryOf({ id, born, body }: StoredDocument): Entry {
  return { ...(body as InboxEntry), id, born };
}

function writeCursor({ born, requestId }: Entry): string {
  return Buffer.from(JSON.stringify([born, requestId])).toString("base64url");
}

function readCursor(cursor: string, mailbox: Mailbox): Place {
  try {
    const [born, requestId, ...rest]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Number.isSafeInteger(born) && typeof requestId === "string" && rest.length === 0) {
      return { born: Number(born), id: entryId(mailbox, requestId) };
    }
  } catch {
    // What is no JSON is no cursor of ours either.
  }
  throw refusal("ValidationError", "This cursor was not given out by this gateway.", { param: "cursor" });
}

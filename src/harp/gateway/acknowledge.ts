/** Whoever got a message says so: it is not sent again, and a decision that was acknowledged is delivered. */

import type { AckAccepted, AckSubmit, Recipient } from "../core/wire.ts";
import type { Change } from "./exchanges.ts";
import type { Gateway } from "./gateway.ts";
import { actorOf, type Mailbox, mailboxFor, type Principal } from "./principal.ts";
import type { AckStatus, Exchange } from "./records/exchange.ts";
import { stateAfter } from "./records/states.ts";
import { messageNotFound } from "./refusals.ts";

export async function acknowledge(
  gateway: Gateway,
  principal: Principal,
  { requestId, sender, body }: AckSubmit,
): Promise<AckAccepted> {
  const { enforcerId, approverId } = sender;
  const mailbox = mailboxFor(
    principal,
    approverId === undefined
      ? { role: "enforcer", id: enforcerId ?? "" }
      : { role: "approver", id: approverId },
  );
  await gateway.heardFrom(mailbox);
  const ref = { tenantId: mailbox.tenantId, requestId };
  const recipient: Recipient =
    mailbox.role === "approver" ? { approverId: mailbox.id } : { enforcerId: mailbox.id };
  const { msgId, status, ackAt } = body;

  return await gateway.exchanges.change(ref, (exchange): Change<AckAccepted> => {
    const message = exchange === null ? null : messageTo(exchange, mailbox, msgId);
    const event = mailbox.role === "enforcer" ? "delivery_acknowledged" : "request_acknowledged";
    if (exchange === null || message === null) throw messageNotFound();
    const state = stateAfter(event, exchange.state);
    const holds = furthest(message.acked, status);
    const next = { ...message.with(holds), state };
    const result = gateway.envelopes.ackAccepted(next, recipient, { msgId, status: holds, ackAt });
    if (message.acked === holds) return { result };
    const payload = { msgId, status: holds };
    return { result, write: { next, event: "exchange.acknowledged", actor: actorOf(mailbox), payload } };
  });
}

interface Message {
  acked: AckStatus | null;
  with(acked: AckStatus): Exchange;
}

/** The message of this id, if it was sent to this mailbox and no other. */
function messageTo(exchange: Exchange, { role, id }: Mailbox, msgId: string): Message | null {
  const { decision, approvers, enforcerId } = exchange;
  if (role === "enforcer") {
    if (decision?.msgId !== msgId || enforcerId !== id) return null;
    return {
      acked: decision.acked,
      with: (acked) => ({ ...exchange, decision: { ...decision, acked } }),
    };
  }
  const chosen = approvers.find((each) => each.msgId === msgId && each.approverId === id);
  if (chosen === undefined) return null;
  return {
    acked: chosen.acked,
    with: (acked) => ({
      ...exchange,
      approvers: approvers.map((each) => (each === chosen ? { ...each, acked } : each)),
    }),
  };
}

/** What was processed was received: it does not go back. */
function furthest(before: AckStatus | null, now: AckStatus): AckStatus {
  return before === "processed" ? before : now;
}

/** The messages of a gateway, each made in one place, all with an id, a time and the gateway's name. */

import type { GatewayRefusal } from "../core/gateway-link.ts";
import {
  type AckAccepted,
  type AckBody,
  type ApprovalRequest,
  type ArtifactAccepted,
  type Ciphertext,
  type DecisionAccepted,
  type DecisionDeliver,
  type Emitted,
  type ErrorBody,
  type ErrorEnvelope,
  type ExchangeStatus,
  type ExchangeWithdrawn,
  type InboxItem,
  type InboxPage,
  type MessageType,
  noRequestId,
  type Recipient,
  type RefreshRequest,
} from "../core/wire.ts";
import type { AcceptedDecision, Chosen, Exchange } from "./records/exchange.ts";
import { timeText } from "./times.ts";

const withdrawalReason = "Enforcer-initiated withdrawal";
const refreshReason = "Approver requested refresh for expired artifact";

interface Maker {
  gatewayId: string;
  newId(prefix: string): string;
  now(): number;
}

export class Envelopes {
  readonly #maker: Maker;

  constructor(maker: Maker) {
    this.#maker = maker;
  }

  artifactAccepted(exchange: Exchange, isDuplicate: boolean): ArtifactAccepted {
    const { state, createdAt, expiresAt, artifactHash, enforcerId } = exchange;
    const body = { state, createdAt, expiresAt, artifactHash, duplicate: isDuplicate };
    return this.#about(exchange, "artifact.accepted", { enforcerId }, body);
  }

  /** The same message each time: it was filed once. */
  approvalRequest(exchange: Exchange, chosen: Chosen, ciphertext: Ciphertext): ApprovalRequest {
    const { artifactType, artifactHash, metadata, createdAt } = exchange;
    const { approverId, msgId } = chosen;
    const body = {
      artifactType,
      artifactHash,
      ciphertextRef: { ...ciphertext, kind: "inline" as const },
      ...(metadata === null ? {} : { metadata }),
    };
    return { ...this.#about(exchange, "approval.request", { approverId }, body, msgId), createdAt };
  }

  decisionAccepted(exchange: Exchange, decision: AcceptedDecision, isDuplicate: boolean): DecisionAccepted {
    const { decidedAt, approverId } = decision;
    const body = { state: exchange.state, decidedAt, duplicate: isDuplicate };
    return this.#about(exchange, "decision.accepted", { approverId }, body);
  }

  /** The same message each time, with the body exactly as it was accepted. */
  decisionDeliver(exchange: Exchange, { body, msgId, decidedAt }: AcceptedDecision): DecisionDeliver {
    const { enforcerId } = exchange;
    return {
      ...this.#about(exchange, "decision.deliver", { enforcerId }, body, msgId),
      createdAt: decidedAt,
    };
  }

  ackAccepted(exchange: Exchange, recipient: Recipient, body: AckBody): AckAccepted {
    return this.#about(exchange, "ack.accepted", recipient, body);
  }

  inboxPage(recipient: Recipient, items: InboxItem[], nextCursor: string | null): InboxPage {
    return { ...this.#emitted("inbox.page", noRequestId, { items, nextCursor }), recipient };
  }

  exchangeStatus(exchange: Exchange): ExchangeStatus {
    const { requestId, state, createdAt, expiresAt, artifactHash, decision } = exchange;
    const body = {
      ...{ requestId, state, createdAt, expiresAt, artifactHash },
      ...(decision === null ? {} : { decision: decision.body }),
    };
    return this.#about(exchange, "exchange.status", null, body);
  }

  exchangeWithdrawn(exchange: Exchange, recipient: Recipient): ExchangeWithdrawn {
    const withdrawnAt = timeText(exchange.endedAtMs ?? this.#maker.now());
    const body = { state: "Withdrawn" as const, withdrawnAt, reason: withdrawalReason };
    return this.#about(exchange, "exchange.withdrawn", recipient, body);
  }

  refreshRequest(exchange: Exchange): RefreshRequest {
    const { enforcerId } = exchange;
    return this.#about(exchange, "refresh.request", { enforcerId }, { reason: refreshReason });
  }

  error({ code, message, details }: GatewayRefusal, requestId: string | null): ErrorEnvelope {
    const body: ErrorBody = {
      code,
      message,
      ...(requestId === null ? {} : { requestId }),
      details: { retryable: false, ...details },
    };
    return { ...this.#emitted("error", requestId ?? noRequestId, body), message };
  }

  #about<Type extends MessageType, Body>(
    { requestId, expiresAt }: Exchange,
    msgType: Type,
    recipient: Recipient | null,
    body: Body,
    msgId?: string,
  ): Emitted<Type, Body> {
    return {
      ...this.#emitted(msgType, requestId, body, msgId),
      expiresAt,
      ...(recipient === null ? {} : { recipient }),
    };
  }

  #emitted<Type extends MessageType, Body>(
    msgType: Type,
    requestId: string,
    body: Body,
    msgId = this.#maker.newId("msg"),
  ): Emitted<Type, Body> {
    const { gatewayId, now } = this.#maker;
    return { msgId, msgType, requestId, createdAt: timeText(now()), sender: { gatewayId }, body };
  }
}

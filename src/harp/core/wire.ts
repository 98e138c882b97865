/**
 * What travels between enforcers, approvers and a gateway: the envelope, and the body of each kind of message. The
 * envelope is unsigned; nothing in it is ever trusted for authorization.
 */

export const harpVersion = "0.2";
export const harpMediaType = "application/harp+json";
export const harpVersionHeader = "X-HARP-Version";

/** Of an envelope that is about no exchange. */
export const noRequestId = "-";

export type MessageType =
  | "artifact.submit"
  | "artifact.accepted"
  | "approval.request"
  | "decision.submit"
  | "decision.accepted"
  | "decision.deliver"
  | "ack.submit"
  | "ack.accepted"
  | "inbox.page"
  | "exchange.status"
  | "exchange.withdrawn"
  | "refresh.request"
  | "error";

/** Exactly one of these. */
export interface Sender {
  enforcerId?: string;
  approverId?: string;
  gatewayId?: string;
}

export interface Recipient {
  enforcerId?: string;
  approverId?: string;
}

export interface Envelope<Type extends MessageType = MessageType, Body = object> {
  msgId?: string;
  msgType: Type;
  requestId: string;
  createdAt: string;
  expiresAt?: string;
  sender: Sender;
  recipient?: Recipient;
  trace?: Record<string, unknown>;
  body: Body;
}

/** What a gateway emits always has an id. */
export type Emitted<Type extends MessageType, Body> = Envelope<Type, Body> & { msgId: string };

/** What the sender made of it is opaque to a gateway; members that it does not know pass through. */
export interface Ciphertext {
  alg: string;
  data: string;
  nonce?: string;
  tag?: string;
  aad?: string;
  [member: string]: unknown;
}

export type Metadata = Record<string, unknown>;

/** Hashes in bodies have the prefix `sha256:`; those inside of artifacts and decisions have none. */
export interface ArtifactSubmitBody {
  artifactType: string;
  artifactHash: string;
  ciphertext: Ciphertext;
  metadata?: Metadata;
  expiresAt: string;
}

export type ExchangeState =
  | "pendingApproval"
  | "decided"
  | "delivered"
  | "expired"
  | "withdrawn"
  | "cancelled";

export interface ArtifactAcceptedBody {
  state: ExchangeState;
  createdAt: string;
  expiresAt: string;
  artifactHash: string;
  duplicate: boolean;
}

export interface ApprovalRequestBody {
  artifactType: string;
  artifactHash: string;
  ciphertextRef: Ciphertext & { kind: "inline" };
  metadata?: Metadata;
}

export interface DecisionBody {
  artifactHash: string;
  decision: "approve" | "reject";
  signerKeyId: string;
  nonce: string;
  signature: string;
  /** Unsigned: a remark for people, which a gateway can read and change. */
  reason?: string;
  decisionHash?: string;
}

export interface DecisionAcceptedBody {
  state: ExchangeState;
  decidedAt: string;
  duplicate: boolean;
}

export interface AckBody {
  msgId: string;
  status: "received" | "processed";
  ackAt: string;
}

export interface InboxItem {
  requestId: string;
  msgId: string;
  status: "Pending" | "Expired" | "Undelivered";
  createdAt: string;
  expiresAt: string;
  envelope: ApprovalRequest | DecisionDeliver;
}

export interface InboxPageBody {
  items: InboxItem[];
  nextCursor: string | null;
}

export interface ExchangeStatusBody {
  requestId: string;
  state: ExchangeState;
  createdAt: string;
  expiresAt: string;
  artifactHash?: string;
  decision?: DecisionBody;
}

export interface WithdrawnBody {
  state: "Withdrawn";
  withdrawnAt: string;
  reason: string;
}

export interface ErrorBody {
  code: string;
  message: string;
  requestId?: string;
  details?: { retryable: boolean; harpCode?: string; [member: string]: unknown };
}

export type ArtifactSubmit = Envelope<"artifact.submit", ArtifactSubmitBody>;
export type DecisionSubmit = Envelope<"decision.submit", DecisionBody>;
export type AckSubmit = Envelope<"ack.submit", AckBody>;
export type ArtifactAccepted = Emitted<"artifact.accepted", ArtifactAcceptedBody>;
export type ApprovalRequest = Emitted<"approval.request", ApprovalRequestBody>;
export type DecisionAccepted = Emitted<"decision.accepted", DecisionAcceptedBody>;
export type DecisionDeliver = Emitted<"decision.deliver", DecisionBody>;
export type AckAccepted = Emitted<"ack.accepted", AckBody>;
export type InboxPage = Emitted<"inbox.page", InboxPageBody>;
export type ExchangeStatus = Emitted<"exchange.status", ExchangeStatusBody>;
export type ExchangeWithdrawn = Emitted<"exchange.withdrawn", WithdrawnBody>;
export type RefreshRequest = Emitted<"refresh.request", { reason: string }>;
/** `message` is beside the body too: many clients look for it there, and show nothing where they do not find it. */
export type ErrorEnvelope = Emitted<"error", ErrorBody> & { message: string };

/** A control frame, and no envelope: how a client introduces itself on a WebSocket. */
export interface Hello {
  msgType: "hello";
  /** What the enforcer says it can do, in its own words. */
  capabilities: Record<string, unknown>;
  workspaceName?: string;
  enforcerLabel?: string;
}

export interface Presence {
  enforcerDeviceId: string;
  status: "online" | "offline";
  lastSeenAt: string;
  transport: "websocket" | "sse" | "poll";
  workspaceName?: string;
  enforcerLabel?: string;
  capabilities?: Record<string, unknown>;
}

export interface PairingInitiate {
  enforcerId: string;
  enforcerLabel?: string;
  workspaceName?: string;
  publicKey?: string;
}

export interface PairingInitiated {
  code: string;
  nonce: string;
  expiresAt: string;
}

export interface PairingResolved {
  nonce: string;
  enforcerId: string;
  enforcerLabel?: string;
  workspaceName?: string;
  publicKey?: string;
  expiresAt: string;
}

export interface PairingComplete {
  nonce: string;
  approverId: string;
  publicKey?: string;
}

export interface PairingCompleted {
  routingToken: string;
  enforcerLabel?: string;
  workspaceName?: string;
}

export interface PairingStatus {
  nonce: string;
  state: "initiated" | "resolved" | "completed" | "revoked" | "expired";
  expiresAt: string;
  approverId?: string;
  publicKey?: string;
  routingToken?: string;
  completedAt?: string;
  revokedAt?: string;
}

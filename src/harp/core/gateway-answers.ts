/**
 * What gateways say, as far as their clients use it. Members that nobody here knows are left alone: other gateways may
 * say more. Nothing of it is trusted; it only has a shape.
 */

import {
  closed,
  id,
  list,
  malformed,
  matching,
  object,
  oneOf,
  only,
  type Reader,
  text,
  time,
} from "./read.ts";
import type {
  ApprovalRequest,
  ArtifactAccepted,
  DecisionAccepted,
  DecisionBody,
  DecisionDeliver,
  Emitted,
  ExchangeState,
  ExchangeStatus,
  MessageType,
  PairingCompleted,
  PairingInitiated,
  PairingResolved,
  PairingStatus,
  RefreshRequest,
} from "./wire.ts";

type Shape = Record<string, Reader<unknown>>;

/** As much as is asked for at once: together they stay below what is read of one answer. */
export const pageItemsMax = 10;
/** Ten of the largest messages that a gateway takes, with room around them. */
export const pageBytesMax = 32 * 1024 * 1024;

const states = ["pendingApproval", "decided", "delivered", "expired", "withdrawn", "cancelled"] as const;
const state: Reader<ExchangeState> = oneOf(states);
const hash = matching(/^(?:sha256:)?[0-9a-f]{64}$/, "a SHA-256 hash");
/** Names of people's making, shown and never relied on. */
const label = shortText(512);
const token = shortText(512);
const bundle = shortText(8192);

const readSender = some({}, { enforcerId: id, approverId: id, gatewayId: id });

/** For answers of which only matters that there is one. */
export const anything: Reader<unknown> = (value) => value;

export const readArtifactAccepted: Reader<ArtifactAccepted> = emitted(
  "artifact.accepted",
  some({ state, createdAt: time, expiresAt: time, artifactHash: hash, duplicate: flag }),
);

export const readDecisionAccepted: Reader<DecisionAccepted> = emitted(
  "decision.accepted",
  some({ state, decidedAt: time, duplicate: flag }),
);

export const readExchangeStatus: Reader<ExchangeStatus> = emitted(
  "exchange.status",
  some(
    { requestId: id, state, createdAt: time, expiresAt: time },
    { artifactHash: hash, decision: asItCame },
  ),
);

export const readDecisionDeliver: Reader<DecisionDeliver> = emitted("decision.deliver", asItCame);
export const readRefreshRequest: Reader<RefreshRequest> = emitted("refresh.request", some({ reason: label }));

/** In the shape of one; whether it can be opened is found out by opening it. */
export const readApprovalRequest: Reader<ApprovalRequest> = emitted(
  "approval.request",
  some({ artifactType: id, artifactHash: hash, ciphertextRef: readCiphertext }, { metadata: object }),
);

/** An item of a page, whatever it is about; its message is read by whoever knows what it should be. */
export interface ListedMessage {
  requestId: string;
  envelope: unknown;
}

export interface ListedPage {
  items: ListedMessage[];
  nextCursor: string | null;
}

export const readInboxPage: Reader<Emitted<"inbox.page", ListedPage>> = emitted(
  "inbox.page",
  some({ items: list(some({ requestId: id, envelope: anything }), 0, 1000), nextCursor: cursor }),
);

export const readPairingInitiated: Reader<PairingInitiated> = some({ code: id, nonce: id, expiresAt: time });

export const readPairingResolved: Reader<PairingResolved> = some(
  { nonce: id, enforcerId: id, expiresAt: time },
  { enforcerLabel: label, workspaceName: label, publicKey: bundle },
);

export const readPairingCompleted: Reader<PairingCompleted> = some(
  { routingToken: token },
  { enforcerLabel: label, workspaceName: label },
);

export const readPairingStatus: Reader<PairingStatus> = some(
  { nonce: id, state: oneOf(["initiated", "resolved", "completed", "revoked", "expired"]), expiresAt: time },
  { approverId: id, publicKey: bundle, routingToken: token, completedAt: time, revokedAt: time },
);

/** These members as they should be, and whatever others. */
function some<Required extends Shape, Optional extends Shape = Record<never, never>>(
  required: Required,
  optional?: Optional,
) {
  const known = new Set([...Object.keys(required), ...Object.keys(optional ?? {})]);
  const read = closed(required, optional);
  return (value: unknown, at: string) => {
    const members = Object.entries(object(value, at)).filter(([name]) => known.has(name));
    return read(Object.fromEntries(members), at);
  };
}

function emitted<const Type extends MessageType, Body>(
  msgType: Type,
  body: Reader<Body>,
): Reader<Emitted<Type, Body>> {
  const read = some(
    { msgId: id, msgType: oneOf([msgType]), requestId: id, createdAt: time, sender: readSender },
    { expiresAt: time },
  );
  return (value, at) => ({
    ...read(value, at),
    body: body(object(value, at).body, `${at}.body`),
  });
}

/** Every member is kept, since whoever sealed it decides what is needed to open it. */
function readCiphertext(value: unknown, at: string): ApprovalRequest["body"]["ciphertextRef"] {
  const { nonce, tag, aad, ...members } = object(value, at);
  const optional = closed({}, { nonce: text, tag: text, aad: text });
  const given = Object.entries({ nonce, tag, aad }).filter(([, found]) => found !== undefined);
  return {
    ...members,
    kind: only("inline")(members.kind, `${at}.kind`),
    alg: text(members.alg, `${at}.alg`),
    data: text(members.data, `${at}.data`),
    ...optional(Object.fromEntries(given), at),
  };
}

/**
 * A decision is read by the enforcer itself, strictly: one that is malformed has to reach it, to be recorded and
 * acknowledged there. Until then it is an object, and its members are nobody's word.
 */
function asItCame(value: unknown, at: string): DecisionBody {
  const members: Partial<DecisionBody> = object(value, at);
  return members as DecisionBody;
}

function flag(value: unknown, at: string): boolean {
  if (typeof value !== "boolean") throw malformed(`${at} is neither true nor false`);
  return value;
}

function cursor(value: unknown, at: string): string | null {
  return value === null ? null : shortText(4096)(value, at);
}

function shortText(lengthMax: number): Reader<string> {
  return (value, at) => {
    const found = text(value, at);
    if (found.length > lengthMax) throw malformed(`${at} is longer than ${lengthMax} characters`);
    return found;
  };
}

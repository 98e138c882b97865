/**
 * What a HARP gateway may say, written down for the tests a second time, so that the code under test does not vouch for
 * itself: every envelope that it emits, closed wherever the protocol closes it.
 */

import assert from "node:assert/strict";
import { type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Json } from "./client.ts";

const Text = Type.String({ minLength: 1 });
const Hash = Type.String({ pattern: "^(sha256:)?[0-9a-f]{64}$" });
/** RFC 3339, narrowly: a `T`, and `Z` or an offset. */
const Time = Type.String({
  pattern:
    "^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]\\d\\d:\\d\\d)$",
});
const Open = Type.Record(Type.String(), Type.Unknown());

function oneOf(...values: string[]): TSchema {
  return Type.Union(values.map((value) => Type.Literal(value)));
}

function closed(properties: Record<string, TSchema>): TSchema {
  return Type.Object(properties, { additionalProperties: false });
}

const State = oneOf("pendingApproval", "decided", "delivered", "expired", "withdrawn", "cancelled");

const DecisionBody = closed({
  artifactHash: Text,
  decision: oneOf("approve", "reject"),
  signerKeyId: Text,
  nonce: Text,
  signature: Text,
  reason: Type.Optional(Type.String()),
  decisionHash: Type.Optional(Type.String()),
});

const bodies: Record<string, TSchema> = {
  "artifact.accepted": closed({
    state: State,
    createdAt: Time,
    expiresAt: Time,
    artifactHash: Hash,
    duplicate: Type.Boolean(),
  }),
  "approval.request": closed({
    artifactType: Text,
    artifactHash: Hash,
    ciphertextRef: Type.Object({ kind: Type.Literal("inline"), alg: Type.String(), data: Type.String() }),
    metadata: Type.Optional(Open),
  }),
  "decision.accepted": closed({ state: State, decidedAt: Time, duplicate: Type.Boolean() }),
  "decision.deliver": DecisionBody,
  "ack.accepted": closed({ msgId: Text, status: oneOf("received", "processed"), ackAt: Time }),
  "inbox.page": closed({
    items: Type.Array(
      closed({
        requestId: Text,
        msgId: Text,
        status: oneOf("Pending", "Expired", "Undelivered"),
        createdAt: Time,
        expiresAt: Time,
        envelope: Open,
      }),
    ),
    nextCursor: Type.Union([Text, Type.Null()]),
  }),
  "exchange.status": closed({
    requestId: Text,
    state: State,
    createdAt: Time,
    expiresAt: Time,
    artifactHash: Type.Optional(Hash),
    decision: Type.Optional(DecisionBody),
  }),
  "exchange.withdrawn": closed({
    state: Type.Literal("Withdrawn"),
    withdrawnAt: Time,
    reason: Text,
  }),
  "refresh.request": closed({ reason: Text }),
  error: closed({
    code: Type.String({ pattern: "^[A-Z][A-Za-z]+$" }),
    message: Text,
    requestId: Type.Optional(Text),
    details: Type.Object({
      retryable: Type.Boolean(),
      harpCode: Type.Optional(Type.String({ pattern: "^HARP_ERR_[A-Z_]+$" })),
    }),
  }),
};

/** Where no exchange applies, or perhaps none does. */
const withoutExpiry = new Set(["inbox.page", "error"]);

function envelopeSchema(msgType: string, body: TSchema): TSchema {
  return closed({
    msgId: Text,
    msgType: Type.Literal(msgType),
    requestId: Text,
    createdAt: Time,
    expiresAt: withoutExpiry.has(msgType) ? Type.Optional(Time) : Time,
    sender: closed({ gatewayId: Text }),
    recipient: Type.Optional(closed({ enforcerId: Type.Optional(Text), approverId: Type.Optional(Text) })),
    trace: Type.Optional(Open),
    body,
    // Beside the body as well, where clients of others look for it.
    ...(msgType === "error" ? { message: Text } : {}),
  });
}

/** The types of messages that a gateway may emit, and there are no others. */
export const emittedTypes: readonly string[] = Object.keys(bodies);

const validators = new Map(
  Object.entries(bodies).map(([type, body]) => [type, Compile(envelopeSchema(type, body))]),
);

/** Checks an envelope that the gateway emitted, and those inside of it; with a type, that it is of that type. */
export function assertEnvelope(envelope: Json, msgType?: string): void {
  const shown = JSON.stringify(envelope)?.slice(0, 2000);
  if (msgType !== undefined) assert.equal(envelope?.msgType, msgType, shown);
  const validator = validators.get(envelope?.msgType);
  assert.ok(validator !== undefined, `not a registered message type: ${shown}`);
  const isValid: boolean = validator.Check(envelope);
  if (!isValid) {
    const problems = validator
      .Errors(envelope)
      .map(({ instancePath, message }) => `${instancePath} ${message}`);
    assert.fail(`${problems.join("; ")}\n${shown}`);
  }
  if (envelope.msgType === "approval.request")
    assert.deepEqual(Object.keys(envelope.recipient), ["approverId"]);
  if (envelope.msgType === "decision.deliver")
    assert.deepEqual(Object.keys(envelope.recipient), ["enforcerId"]);
  if (envelope.msgType === "inbox.page") {
    for (const item of envelope.body.items) assertItem(item);
  }
}

function assertItem({ requestId, msgId, expiresAt, status, envelope }: Json): void {
  assertEnvelope(envelope, status === "Undelivered" ? "decision.deliver" : "approval.request");
  assert.deepEqual([envelope.requestId, envelope.msgId, envelope.expiresAt], [requestId, msgId, expiresAt]);
}

const Id = Type.String({ minLength: 1, maxLength: 128 });

const submissions: Record<string, TSchema> = {
  "artifact.submit": closed({
    artifactType: Text,
    artifactHash: Hash,
    ciphertext: Type.Object({
      alg: Type.String(),
      data: Text,
      nonce: Type.Optional(Type.String()),
      tag: Type.Optional(Type.String()),
      aad: Type.Optional(Type.String()),
      kind: Type.Optional(Type.Never()),
    }),
    metadata: Type.Optional(Open),
    expiresAt: Time,
  }),
  "decision.submit": DecisionBody,
  "ack.submit": closed({ msgId: Text, status: oneOf("received", "processed"), ackAt: Time }),
};

const submissionValidators = Object.entries(submissions).map(([type, body]) =>
  Compile(
    closed({
      msgId: Type.Optional(Text),
      msgType: Type.Literal(type),
      requestId: Id,
      createdAt: Time,
      expiresAt: Type.Optional(Time),
      sender: Type.Union([closed({ enforcerId: Id }), closed({ approverId: Id })]),
      recipient: Type.Optional(closed({ enforcerId: Type.Optional(Text), approverId: Type.Optional(Text) })),
      trace: Type.Optional(Open),
      body,
    }),
  ),
);

/** Whether a gateway could take it as something that clients submit, as far as its shape goes. */
export function isSubmission(value: unknown): boolean {
  return submissionValidators.some((validator) => validator.Check(value));
}

const statusOfCode: Record<string, number> = {
  MalformedJson: 400,
  ValidationError: 400,
  Unauthenticated: 401,
  Forbidden: 403,
  InsecureTransport: 403,
  ExchangeNotFound: 404,
  ExchangeWithdrawn: 404,
  InboxItemNotFound: 404,
  MessageNotFound: 404,
  EnforcerNotFound: 404,
  PairingNotFound: 404,
  RouteNotFound: 404,
  MethodNotAllowed: 405,
  AlreadyExistsConflict: 409,
  AlreadyDecidedConflict: 409,
  ExchangeExpiredConflict: 409,
  ExchangeCancelledConflict: 409,
  InvalidStateConflict: 409,
  PairingCompletedConflict: 409,
  PayloadTooLarge: 413,
  UnsupportedMediaType: 415,
  NoApproverAvailable: 422,
  PairingRevoked: 422,
  ArtifactExpired: 422,
  ArtifactHashMismatch: 422,
  ExpiryTooFar: 422,
  UnsupportedVersion: 426,
  RateLimited: 429,
  InternalError: 500,
  EnforcerOffline: 503,
};

/** An error whose code and status belong together. */
export function assertErrorEnvelope(envelope: Json, status?: number): void {
  assertEnvelope(envelope, "error");
  const { code } = envelope.body;
  assert.equal(envelope.message, envelope.body.message);
  const expected = statusOfCode[code];
  assert.ok(expected !== undefined, `${code} is not a code of the table`);
  if (status !== undefined) assert.equal(status, expected, `the status of ${code}`);
  assert.equal(code.endsWith("Conflict"), expected === 409, code);
}

/** What clients may send to a gateway. Envelopes are closed, as the protocol's schemas are; control messages are open. */

import { type TProperties, type TSchema, Type } from "typebox";
import { parseTime } from "../../harp/core/times.ts";

const idCharsMax = 128;
const labelCharsMax = 256;
const textCharsMax = 1024;
/** Kept in memory for each enforcer. */
const capabilitiesCharsMax = 1024;
const publicKeyCharsMax = 8 * 1024;

const closed = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

export const Id = Type.String({ minLength: 1, maxLength: idCharsMax });
const Text = Type.String({ minLength: 1, maxLength: textCharsMax });
const Label = Type.String({ maxLength: labelCharsMax });
const Open = Type.Record(Type.String(), Type.Unknown());

/** RFC 3339 as narrowly as this protocol takes it: a real date, an upper-case `T`, and `Z` or an offset. */
const Time = Type.Refine(
  Type.String(),
  (text) => parseTime(text) !== null,
  () => "must be a time such as 2026-02-24T10:00:00Z",
);

const Sender = Type.Refine(
  closed({
    enforcerId: Type.Optional(Id),
    approverId: Type.Optional(Id),
    gatewayId: Type.Optional(Id),
  }),
  (sender) => Object.keys(sender).length === 1,
  () => "must name exactly one of enforcerId, approverId and gatewayId",
);

/** Around a body of one kind. */
const envelopeOf = <T extends string, B extends TSchema>(msgType: T, body: B) =>
  closed({
    msgId: Type.Optional(Id),
    msgType: Type.Literal(msgType),
    requestId: Id,
    createdAt: Time,
    expiresAt: Type.Optional(Time),
    sender: Sender,
    recipient: Type.Optional(closed({ enforcerId: Type.Optional(Id), approverId: Type.Optional(Id) })),
    trace: Type.Optional(Open),
    body,
  });

/** Opaque here. A member `kind` would be taken for one of ours when it is passed on. */
const Ciphertext = Type.Refine(
  Type.Object({
    alg: Type.String({ maxLength: textCharsMax }),
    data: Type.String({ minLength: 1 }),
    nonce: Type.Optional(Type.String()),
    tag: Type.Optional(Type.String()),
    aad: Type.Optional(Type.String()),
  }),
  (ciphertext) => !("kind" in ciphertext),
  () => "must not have a member kind",
);

export const ArtifactSubmit = envelopeOf(
  "artifact.submit",
  closed({
    artifactType: Text,
    artifactHash: Type.String({ pattern: "^(sha256:)?[0-9a-f]{64}$" }),
    ciphertext: Ciphertext,
    metadata: Type.Optional(Open),
    expiresAt: Time,
  }),
);

export const DecisionSubmit = envelopeOf(
  "decision.submit",
  closed({
    artifactHash: Text,
    decision: Type.Union([Type.Literal("approve"), Type.Literal("reject")]),
    signerKeyId: Id,
    nonce: Text,
    signature: Type.String({ minLength: 1 }),
    reason: Type.Optional(Type.String()),
    decisionHash: Type.Optional(Type.String({ maxLength: textCharsMax })),
  }),
);

export const AckSubmit = envelopeOf(
  "ack.submit",
  closed({
    msgId: Id,
    status: Type.Union([Type.Literal("received"), Type.Literal("processed")]),
    ackAt: Time,
  }),
);

/** With a withdrawal any envelope may come, as long as it is about the same exchange. */
export const AnyEnvelope = closed({
  ...envelopeOf("any", Open).properties,
  msgType: Type.String({ minLength: 1, maxLength: labelCharsMax }),
});

export const Hello = Type.Object({
  msgType: Type.Literal("hello"),
  capabilities: Type.Optional(
    Type.Refine(
      Open,
      (capabilities) => JSON.stringify(capabilities).length <= capabilitiesCharsMax,
      () => `must have at most ${capabilitiesCharsMax} characters`,
    ),
  ),
  workspaceName: Type.Optional(Label),
  enforcerLabel: Type.Optional(Label),
});

export const PairingInitiate = Type.Object({
  enforcerId: Id,
  enforcerLabel: Type.Optional(Label),
  workspaceName: Type.Optional(Label),
  publicKey: Type.Optional(Type.String({ maxLength: publicKeyCharsMax })),
});

export const Heartbeat = Type.Object({
  enforcerId: Id,
  workspaceName: Type.Optional(Label),
  enforcerLabel: Type.Optional(Label),
});

export const PairingComplete = Type.Object({
  nonce: Id,
  approverId: Id,
  publicKey: Type.Optional(Type.String({ maxLength: publicKeyCharsMax })),
});

/** An enforcer names the token; an approver may name the enforcer instead, since not every approver keeps tokens. */
export const PairingRevoke = Type.Refine(
  Type.Object({ routingToken: Type.Optional(Text), enforcerId: Type.Optional(Id) }),
  ({ routingToken, enforcerId }) => (routingToken === undefined) !== (enforcerId === undefined),
  () => "must have either routingToken or enforcerId",
);

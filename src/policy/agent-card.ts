/**
 * Agent cards that are signed: JWS (RFC 7515) over the RFC 8785 form of the card, which is not part of the signature but
 * made again by whoever verifies it. Imported by the surface that signs ours, and by hand-offs, which verify others'.
 *
 * The form is that of the protobuf definition: REQUIRED fields are always in it, `optional` ones when they were set, all
 * others when they are not at their default; what is inside a Struct is data and stays as it is. The official library
 * strips everything that is empty instead. A card with nothing empty in it has the same form by both rules: ours are such.
 */

import { sign } from "node:crypto";
import {
  type DescField,
  type DescMessage,
  fromJson,
  getOption,
  hasOption,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { type FlattenedJWSInput, flattenedVerify, importJWK, type JWK } from "jose";
import { FieldBehavior, field_behavior } from "../../proto/generated/google/api/field_behavior_pb.js";
import { type AgentCardJson, AgentCardSchema } from "../../proto/generated/lf/a2a/v1/a2a_pb.js";
import type { SigningKey } from "../receipts/keys.ts";
import { canonicalJson } from "../web/canonical-json.ts";

/** Asymmetric ones only: with the others, whoever can verify can sign. */
const algorithms = [
  ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512"],
  ...["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"],
];
/** More signatures, or keys of one name, are no card's, but somebody's try to keep us busy. */
const signaturesMax = 16;
const keysMax = 4;

type JsonMap = Record<string, unknown>;

/** A key as a key set has it. `exp` (seconds since 1970) is when it ended: nothing is believed that it signed. */
export type CardKey = JWK & { exp?: number };

/** The text that is signed. Throws for what is no card. */
export function canonicalCard(card: JsonValue): string {
  return canonicalJson(withRequired(AgentCardSchema, schemaFields(card)));
}

/** The same by the official library's rule. */
export function strippedCard(card: JsonValue): string {
  return canonicalJson(stripped(schemaFields(card)) ?? {});
}

/** The card with a signature. Equal cards and keys have equal signatures. */
export function signCard(card: AgentCardJson, key: SigningKey, keySetUrl: string): AgentCardJson {
  const text = canonicalCard(card);
  if (text !== strippedCard(card))
    throw new Error("The agent card has empty members, which the signature would not cover.");
  return { ...card, signatures: [signatureOf(text, key, keySetUrl)] };
}

/**
 * A card with members of 0.3 beside those of 1.0, with two signatures: over the document as it is served, and over what of it 1.0
 * knows, so that verifiers of either kind find one that holds.
 */
export function signHybrid(card: object, key: SigningKey, keySetUrl: string): object {
  const json: JsonValue = JSON.parse(JSON.stringify(card));
  const texts = [canonicalJson(json), canonicalCard(json)];
  return { ...card, signatures: texts.map((text) => signatureOf(text, key, keySetUrl)) };
}

function signatureOf(
  text: string,
  key: SigningKey,
  keySetUrl: string,
): { protected: string; signature: string } {
  const header = { alg: "EdDSA", kid: key.kid, typ: "JOSE", jku: keySetUrl };
  const protectedHeader = base64url(JSON.stringify(header));
  const input = Buffer.from(`${protectedHeader}.${base64url(text)}`);
  return { protected: protectedHeader, signature: sign(null, input, key.privateKey).toString("base64url") };
}

/**
 * Whether one of these keys signed this card. A key that has ended never did; `at` is now, in milliseconds. Whose keys
 * to trust is the caller's to know: the URL that a signature names for its keys is only what the signer says.
 */
export async function verifyCard(
  card: JsonValue,
  keys: readonly CardKey[],
  at = Date.now(),
): Promise<boolean> {
  const usable = keys.filter(({ exp }) => exp === undefined || exp * 1000 > at);
  const payloads = payloadsOf(card);
  for (const entry of signaturesOf(card).slice(0, signaturesMax)) {
    const named = usable.filter(({ kid }) => kid !== undefined && kid === entry.kid).slice(0, keysMax);
    for (const key of named) {
      for (const payload of payloads) {
        if (await isSignedBy(key, { ...entry.jws, payload })) return true;
      }
    }
  }
  return false;
}

/** The definition's form first; the stripped one for signers that use the official library. */
function payloadsOf(card: JsonValue): string[] {
  try {
    return [...new Set([canonicalCard(card), strippedCard(card)])].map(base64url);
  } catch {
    return [];
  }
}

interface Signature {
  kid: string;
  jws: Pick<FlattenedJWSInput, "protected" | "signature">;
}

function signaturesOf(card: unknown): Signature[] {
  const { signatures } = asMap(card);
  if (!Array.isArray(signatures)) return [];
  return signatures.flatMap((entry): Signature[] => {
    const { protected: header, signature } = asMap(entry);
    if (typeof header !== "string" || typeof signature !== "string") return [];
    const { kid } = headerOf(header);
    return typeof kid === "string" ? [{ kid, jws: { protected: header, signature } }] : [];
  });
}

function headerOf(encoded: string): JsonMap {
  try {
    return asMap(JSON.parse(Buffer.from(encoded, "base64url").toString("utf8")));
  } catch {
    return {};
  }
}

async function isSignedBy(key: CardKey, jws: FlattenedJWSInput): Promise<boolean> {
  try {
    const { alg } = headerOf(jws.protected ?? "");
    const { exp: _ended, ...jwk } = key;
    await flattenedVerify(jws, await importJWK(jwk, typeof alg === "string" ? alg : undefined), {
      algorithms,
    });
    return true;
  } catch {
    return false;
  }
}

/** What the definition knows of the card, without its signatures: defaults are gone, unless they were set. */
function schemaFields(card: JsonValue): JsonMap {
  const message = fromJson(AgentCardSchema, card, { ignoreUnknownFields: true });
  return asMap(toJson(AgentCardSchema, { ...message, signatures: [] }));
}

/** Puts back what the writer leaves out although the definition says that it is always there. */
function withRequired(schema: DescMessage, json: JsonMap): JsonMap {
  const whole = { ...json };
  for (const field of schema.fields) {
    const value = json[field.jsonName] ?? (isRequired(field) ? emptyOf(field) : undefined);
    if (value !== undefined) whole[field.jsonName] = wholeValue(field, value);
  }
  return whole;
}

function isRequired(field: DescField): boolean {
  return (
    hasOption(field, field_behavior) && getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)
  );
}

/** A message that is absent has no empty form: it stays absent. */
function emptyOf(field: DescField): unknown {
  switch (field.fieldKind) {
    case "list":
      return [];
    case "map":
      return {};
    case "enum":
      return field.enum.values[0]?.name;
    case "scalar":
      return jsonOf(scalarZeroValue(field.scalar, true));
    default:
      return undefined;
  }
}

/** No bytes are an empty text. */
function jsonOf(zero: unknown): unknown {
  return zero instanceof Uint8Array ? "" : zero;
}

function wholeValue(field: DescField, value: unknown): unknown {
  const inner = field.message;
  // Struct and its like are data.
  if (inner === undefined || inner.typeName.startsWith("google.protobuf.")) return value;
  const whole = (each: unknown) => withRequired(inner, asMap(each));
  if (Array.isArray(value)) return value.map(whole);
  if (field.fieldKind !== "map") return whole(value);
  return Object.fromEntries(Object.entries(asMap(value)).map(([name, each]) => [name, whole(each)]));
}

/** Null for what is empty, all the way down. */
function stripped(value: unknown): unknown {
  if (value === "" || value === null || value === undefined) return null;
  if (Array.isArray(value)) {
    const items = value.map(stripped).filter((item) => item !== null);
    return items.length > 0 ? items : null;
  }
  if (typeof value !== "object") return value;
  const members = Object.entries(value)
    .map(([name, each]) => [name, stripped(each)] as const)
    .filter(([, each]) => each !== null);
  return members.length > 0 ? Object.fromEntries(members) : null;
}

function asMap(value: unknown): JsonMap {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function base64url(text: string): string {
  return Buffer.from(text, "utf8").toString("base64url");
}

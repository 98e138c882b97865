/** Whether a card is signed by a key that the agent's author trusts. Keys that the card itself points to count for nothing. */

import { canonicalizeAgentCard } from "@a2a-js/sdk";
import { flattenedVerify, importJWK, type JWK } from "jose";
import type { Trust } from "../../kernel/resources/handoff.ts";
import { canonicalJson } from "../../receipts/canonical.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import { RemoteProblem } from "./problems.ts";

/** No `none`, and nothing that is checked with the key that makes it. */
const algorithms = [
  "EdDSA",
  "Ed25519",
  "ES256",
  "ES384",
  "ES512",
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS512",
];
/** Signatures and keys that are looked at. */
const triedMax = 20;

/** Reads a key set. */
export type ReadJson = (url: string) => Promise<unknown>;

export async function assertTrusted(
  card: JsonObject,
  { keys, jwks_urls }: Trust,
  readJson: ReadJson,
  now: number,
): Promise<void> {
  const signatures = (Array.isArray(card.signatures) ? card.signatures : []).slice(0, triedMax);
  if (signatures.length === 0) throw untrusted("The card of the remote agent is not signed.");
  const sets = await Promise.all(jwks_urls.map(async (url) => keysIn(await readJson(url))));
  const trusted = [...keys, ...sets.flat()].filter((key) => isInForce(key, now));
  const payloads = payloadsOf(card);
  for (const signature of signatures) {
    const { kid } = protectedHeader(signature);
    for (const key of trusted.filter((candidate) => candidate.kid === kid).slice(0, triedMax)) {
      if (await verifies(signature, key, payloads)) return;
    }
  }
  throw untrusted("The card of the remote agent is not signed by a key that is trusted.");
}

/** What the specification says is signed, and what the official library takes for it: they differ in what is empty. */
function payloadsOf({ signatures: _, ...card }: JsonObject): string[] {
  // The library reads the card as the JSON that it is, whatever the type of its parameter says.
  const asItCame: Parameters<typeof canonicalizeAgentCard>[0] = JSON.parse(JSON.stringify(card));
  return [canonicalJson(card), canonicalizeAgentCard(asItCame)];
}

async function verifies(
  signature: JsonValue,
  key: JsonObject,
  payloads: readonly string[],
): Promise<boolean> {
  if (typeof signature !== "object" || signature === null || Array.isArray(signature)) return false;
  const { protected: header, signature: value } = signature;
  if (typeof header !== "string" || typeof value !== "string") return false;
  for (const payload of payloads) {
    try {
      const { alg } = protectedHeader(signature);
      const imported = await importJWK(asJwk(key), typeof alg === "string" ? alg : undefined);
      const jws = {
        protected: header,
        signature: value,
        payload: Buffer.from(payload).toString("base64url"),
      };
      await flattenedVerify(jws, imported, { algorithms });
      return true;
    } catch {
      // Another payload or key may fit.
    }
  }
  return false;
}

function protectedHeader(signature: JsonValue): JsonObject {
  if (typeof signature !== "object" || signature === null || Array.isArray(signature)) return {};
  try {
    const header: unknown = JSON.parse(
      Buffer.from(String(signature.protected), "base64url").toString("utf8"),
    );
    return isObject(header) ? header : {};
  } catch {
    return {};
  }
}

function keysIn(set: unknown): JsonObject[] {
  return isObject(set) && Array.isArray(set.keys) ? set.keys.filter(isObject).slice(0, triedMax * 5) : [];
}

/** A key that says when it ends, or that it was revoked, verifies nothing after that. */
function isInForce(key: JsonObject, now: number): boolean {
  const { exp, nbf, revoked, revoked_at } = key;
  if (typeof exp === "number" && exp * 1000 <= now) return false;
  if (typeof nbf === "number" && nbf * 1000 > now) return false;
  return revoked == null && revoked_at == null;
}

function asJwk(key: JsonObject): JWK {
  const { kty, crv, x, y, n, e } = key;
  const members = Object.entries({ kty, crv, x, y, n, e });
  return Object.fromEntries(members.filter(([, value]) => typeof value === "string"));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function untrusted(message: string): RemoteProblem {
  return new RemoteProblem("untrusted_card", message);
}

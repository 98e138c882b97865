/** Whether a card is signed by a key that the agent's author trusts. Keys that the card itself points to count for nothing. */

import type { Trust } from "../../kernel/kinds/handoff.ts";
import { type CardKey, verifyCard } from "../../policy/agent-card.ts";
import type { JsonObject } from "../../store/port.ts";
import { RemoteProblem } from "./problems.ts";

/** Keys of one set that are looked at. */
const keysMax = 100;

/** Reads a key set. */
export type ReadJson = (url: string) => Promise<unknown>;

export async function assertTrusted(
  card: JsonObject,
  { keys, jwks_urls }: Trust,
  readJson: ReadJson,
  now: number,
): Promise<void> {
  const sets = await Promise.all(jwks_urls.map(async (url) => keysIn(await readJson(url))));
  const trusted = [...keys, ...sets.flat()].filter((key) => isInForce(key, now)).map(asCardKey);
  const isTrusted = await verifyCard(card, trusted, now).catch(() => false);
  if (isTrusted) return;
  const problem = "The card of the remote agent is not signed by a key that is trusted.";
  throw new RemoteProblem("untrusted_card", problem);
}

function keysIn(set: unknown): JsonObject[] {
  return isObject(set) && Array.isArray(set.keys) ? set.keys.filter(isObject).slice(0, keysMax) : [];
}

/** A key that says that it has not begun, or was revoked, verifies nothing; when it ends is looked at with the card. */
function isInForce({ nbf, revoked, revoked_at }: JsonObject, now: number): boolean {
  if (typeof nbf === "number" && nbf * 1000 > now) return false;
  return revoked == null && revoked_at == null;
}

function asCardKey({ exp, ...key }: JsonObject): CardKey {
  const { kty, crv, x, y, n, e, kid } = key;
  const members = Object.entries({ kty, crv, x, y, n, e, kid });
  const texts = Object.fromEntries(members.filter(([, value]) => typeof value === "string"));
  return typeof exp === "number" ? { ...texts, exp } : texts;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

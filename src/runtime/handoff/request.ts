/** What an agent may ask of a hand-off: checked before anything is recorded. */

import type { HandoffRecord } from "../../kernel/kinds/handoff.ts";
import { type Part, textPart } from "../../kernel/kinds/message.ts";
import { secretName } from "../../kernel/kinds/vault.ts";
import type { Redactor } from "../../policy/redact/redact.ts";
import type { JsonObject } from "../../store/port.ts";
import type { HandoffOptions, HandoffRequest } from "../agents/agent.ts";
import { AgentFailure } from "../run/failures.ts";
import { jsonCopy } from "../run/json.ts";

const urlCharsMax = 2000;
const partsMax = 1000;
const keysMax = 100;
/** Longer than this nobody waits. */
const expiresMsMax = 365 * 24 * 60 * 60 * 1000;

export interface RemoteTerms extends Pick<HandoffRecord, "url" | "credentials" | "trust"> {
  /** The part of the step's key that names the remote. */
  label: string;
}

export function checkRemote(
  { url: given, credentials, vault, trust, expiresInMs }: HandoffOptions & { url: string },
  redactor: Redactor,
): RemoteTerms {
  const url = checkedUrl(given, redactor);
  if (credentials !== undefined && !secretName.test(credentials)) {
    throw invalid("credentials must be the name of a secret, not the secret itself.");
  }
  if (
    expiresInMs !== undefined &&
    !(Number.isFinite(expiresInMs) && expiresInMs > 0 && expiresInMs <= expiresMsMax)
  ) {
    throw invalid(`expiresInMs must be a number above 0, at most ${expiresMsMax}.`);
  }
  return {
    url: url.href,
    label: `${url.host}${url.pathname}`.replace(/\/+$/, ""),
    credentials: credentials === undefined ? null : { name: credentials, vault_id: vault ?? null },
    trust: trust === undefined ? null : checkedTrust(trust),
  };
}

function checkedUrl(given: string, redactor: Redactor): URL {
  const url = typeof given === "string" && given.length <= urlCharsMax ? URL.parse(given) : null;
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw invalid("url must be an http or https URL.");
  }
  if (url.username !== "" || url.password !== "" || redactor.text(url.href) !== url.href) {
    throw invalid("url must not hold a secret; name one of a vault in credentials.");
  }
  url.hash = "";
  return url;
}

function checkedTrust({ keys = [], jwksUrls = [] }: NonNullable<HandoffOptions["trust"]>): {
  keys: JsonObject[];
  jwks_urls: string[];
} {
  if (keys.length + jwksUrls.length === 0 || keys.length + jwksUrls.length > keysMax) {
    throw invalid(`trust needs from 1 to ${keysMax} keys or URLs of key sets.`);
  }
  const strange = jwksUrls.find((url) => URL.parse(url)?.protocol.startsWith("http") !== true);
  if (strange !== undefined) throw invalid("trust.jwksUrls must be http or https URLs.");
  return { keys: keys.map(publicPart), jwks_urls: [...jwksUrls] };
}

const publicMembers = ["kty", "crv", "x", "y", "n", "e", "kid", "alg", "use", "exp", "nbf"];

/** Of a key only what may be public is kept, whatever else it came with. */
function publicPart(key: JsonObject): JsonObject {
  if (typeof key !== "object" || key === null || key.kty === "oct" || typeof key.kty !== "string") {
    throw invalid("trust.keys must be public keys as JWKs.");
  }
  return Object.fromEntries(
    publicMembers.flatMap((name) => (name in key ? [[name, key[name] ?? null]] : [])),
  );
}

/** What is sent, in parts. */
export function partsOf(input: HandoffRequest["input"]): Part[] {
  const given = jsonCopy(input);
  if (typeof given === "string") return [textPart(given)];
  if (!Array.isArray(given)) return [{ type: "json", value: given, visibility: "public" }];
  if (given.length === 0 || given.length > partsMax)
    throw invalid(`input needs from 1 to ${partsMax} parts.`);
  const unfit = given.find(({ type }) => type !== "text" && type !== "json" && type !== "file_ref");
  if (unfit !== undefined) throw invalid(`A remote agent cannot be given a part of type ${unfit.type}.`);
  return given;
}

function invalid(message: string): AgentFailure {
  return new AgentFailure("invalid_handoff", message);
}

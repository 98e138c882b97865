/**
 * Tokens of other issuers that the operator trusts, verified with the keys that these publish. An issuer says who its
 * clients are (`sub`), of which tenant (`tenant_id`), and what they may do (`scope`, perhaps `workspace_ids`).
 */

import { readFileSync } from "node:fs";
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JWTVerifyGetKey,
  jwtVerify,
} from "jose";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import { JwksSchema } from "../receipts/keys.ts";
import { scopesIn } from "./access-token.ts";
import { whyNoActor } from "./actor.ts";
import type { Caller } from "./caller.ts";

export interface TrustedIssuer {
  issuer: string;
  /** Where its keys are: a URL, or the path of a file that is read at start. */
  jwks: URL | string;
}

export interface ExternalIssuersOptions {
  audience: string;
  /** Told once for every time that keys could not be had. */
  onKeysUnavailable(issuer: string, error: unknown): void;
}

/** Only keys whose public half verifies: with a shared secret, whoever can verify could also sign. */
const algorithms = [
  ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512"],
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
];
/** Clocks differ a little. */
const skewSeconds = 30;
const fetchMsMax = 3000;
/** A key set is asked for again after this long; sooner for a key that is not in it, but not at once again. */
const keysFreshMs = 10 * 60 * 1000;
const refetchMsMin = 30_000;
/** An issuer that does not answer is left alone for a while; its last keys stay good for an hour. */
const retryMsMin = 5000;
const keysStaleMsMax = 60 * 60 * 1000;
const keySetBytesMax = 256 * 1024;

/** What a token must have; the library checks what is there. */
const Claims = Type.Object({
  sub: Type.String({ minLength: 1, maxLength: 200 }),
  exp: Type.Integer(),
  tenant_id: Type.String({ minLength: 1, maxLength: 200 }),
  scope: Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 200 })]),
  workspace_ids: Type.Optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: 200 })),
});
const claims = lazy(() => Compile(Claims));
const keySet = lazy(() => Compile(JwksSchema));

/** The keys of an issuer cannot be had, so nothing can be said about its tokens. */
export class KeysUnavailable extends Error {
  override name = "KeysUnavailable";
}

export interface ExternalToken {
  caller: Caller;
  expiresAt: number;
}

export class ExternalIssuers {
  readonly #keys: ReadonlyMap<string, JWTVerifyGetKey>;
  readonly #audience: string;

  constructor(trusted: readonly TrustedIssuer[], { audience, onKeysUnavailable }: ExternalIssuersOptions) {
    this.#audience = audience;
    this.#keys = new Map(
      trusted.map(({ issuer, jwks }) => [
        issuer,
        jwks instanceof URL
          ? remoteKeys(jwks, (error) => onKeysUnavailable(issuer, error))
          : keysInFile(jwks),
      ]),
    );
  }

  trusts(issuer: string): boolean {
    return this.#keys.has(issuer);
  }

  /** Who presents this token, or null when it is not good. Throws `KeysUnavailable` when that cannot be known. */
  async read(token: string, issuer: string, nowMs: number): Promise<ExternalToken | null> {
    const keys = this.#keys.get(issuer);
    if (keys === undefined) return null;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: this.#audience,
        algorithms,
        clockTolerance: skewSeconds,
        currentDate: new Date(nowMs),
      });
      return claims().Check(payload) && whyNoActor(payload.sub) === null ? toToken(payload) : null;
    } catch (error) {
      if (error instanceof KeysUnavailable) throw error;
      return null;
    }
  }
}

function toToken({ sub, exp, tenant_id, scope, workspace_ids }: Static<typeof Claims>): ExternalToken {
  const caller: Caller = {
    actor: sub,
    tenantId: tenant_id,
    workspaceIds: workspace_ids ?? null,
    scopes: new Set(scopesIn([scope].flat().join(" "))),
  };
  return { caller, expiresAt: (exp + skewSeconds) * 1000 };
}

function keysInFile(file: string): JWTVerifyGetKey {
  const content = parsed(readFileSync(file, "utf8"));
  if (!keySet().Check(content)) throw new Error(`${file} is not a JSON Web Key Set.`);
  // Only keys that say what they are can be chosen by a token; the library leaves out all others.
  return createLocalJWKSet({ keys: content.keys.map((key) => ({ kty: "", ...key })) });
}

function remoteKeys(url: URL, onUnavailable: (error: unknown) => void): JWTVerifyGetKey {
  return createRemoteJWKSet(url, {
    timeoutDuration: fetchMsMax,
    cooldownDuration: refetchMsMin,
    cacheMaxAge: keysFreshMs,
    [customFetch]: patientFetch(onUnavailable),
  });
}

/** Bounded in size and in how often it asks; when there is no answer, the last one is used for a while. */
function patientFetch(onUnavailable: (error: unknown) => void): FetchImplementation {
  let last: { text: string; at: number } | null = null;
  let failedAt = Number.NEGATIVE_INFINITY;
  return async (url, options) => {
    const now = Date.now();
    if (now - failedAt >= retryMsMin) {
      try {
        last = { text: await fetchKeySet(url, options), at: now };
        return new Response(last.text);
      } catch (error) {
        failedAt = now;
        onUnavailable(error);
      }
    }
    if (last !== null && now - last.at < keysStaleMsMax) return new Response(last.text);
    throw new KeysUnavailable("The issuer's keys cannot be had");
  };
}

async function fetchKeySet(url: string, options: Parameters<FetchImplementation>[1]): Promise<string> {
  const response = await fetch(url, options);
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new Error(`The answer was ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > keySetBytesMax) throw new Error(`The answer has more than ${keySetBytesMax} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (!keySet().Check(parsed(text))) throw new Error("The answer is not a JSON Web Key Set");
  return text;
}

/** Undefined for what is no JSON: the parser would quote it. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

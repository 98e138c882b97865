/**
 * Access tokens of this server: short-lived JWTs (RFC 9068) that stand for an API key, signed with the key that signs
 * receipts. A token names its key and some of its scopes; what else it may do is looked up when it is used, so a token
 * is never worth more than its key is at that moment.
 */

import { createPublicKey } from "node:crypto";
import { decodeJwt, jwtVerify, SignJWT } from "jose";
import { Type } from "typebox";
import { Compile } from "typebox/schema";
import { lazy } from "../lazy.ts";
import type { SigningKey } from "../receipts/keys.ts";
import type { PublicJwk } from "../receipts/public-keys.ts";
import { isScope, type Scope } from "./caller.ts";

export const accessTokenSeconds = 15 * 60;
const tokenType = "at+jwt";
/** Longer ones are nobody's: what is said about a caller fits into much less. */
const tokenCharsMax = 8192;

export interface AccessTokenClaims {
  jti: string;
  clientId: string;
  actor: string;
  tenantId: string;
  workspaceIds: readonly string[] | null;
  scopes: readonly Scope[];
  /** Which secret of the key it was exchanged for: it ends with that. */
  keyVersion: number;
}

export async function mintAccessToken(
  key: SigningKey,
  identity: string,
  claims: AccessTokenClaims,
  nowMs: number,
): Promise<{ token: string; expiresAt: number }> {
  const issuedAt = Math.floor(nowMs / 1000);
  const expiresAt = issuedAt + accessTokenSeconds;
  const { jti, clientId, actor, tenantId, workspaceIds, scopes, keyVersion } = claims;
  const token = await new SignJWT({
    client_id: clientId,
    scope: scopes.join(" "),
    tenant_id: tenantId,
    ...(keyVersion === 0 ? {} : { key_version: keyVersion }),
    ...(workspaceIds === null ? {} : { workspace_ids: workspaceIds }),
  })
    .setProtectedHeader({ alg: "EdDSA", kid: key.kid, typ: tokenType })
    .setIssuer(identity)
    .setAudience(identity)
    .setSubject(actor)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expiresAt)
    .setJti(jti)
    .sign(key.privateKey);
  return { token, expiresAt: expiresAt * 1000 };
}

/** The issuer that a bearer claims to come from, or null when it is no JWT. Nothing of it is believed yet. */
export function claimedIssuer(bearer: string): string | null {
  if (bearer.length > tokenCharsMax || !/^[\w-]+\.[\w-]+\.[\w-]*$/.test(bearer)) return null;
  try {
    const { iss } = decodeJwt(bearer);
    return typeof iss === "string" ? iss : null;
  } catch {
    return null;
  }
}

export interface KnownSigningKey {
  jwk: PublicJwk;
  /** When another key took its place; null while it signs. */
  retiredAt: number | null;
}

export interface AccessToken {
  clientId: string;
  keyVersion: number;
  scopes: Scope[];
  expiresAt: number;
}

/** What it must have; the library checks what is there. */
const claimsOfOurs = lazy(() =>
  Compile(
    Type.Object({
      client_id: Type.String(),
      key_version: Type.Optional(Type.Integer()),
      scope: Type.String(),
      iat: Type.Integer(),
      exp: Type.Integer(),
    }),
  ),
);

/** What a token of ours says, or null when it is not one that holds now. */
export async function readAccessToken(
  token: string,
  {
    identity,
    keyOf,
    nowMs,
  }: { identity: string; keyOf(kid: string): Promise<KnownSigningKey | null>; nowMs: number },
): Promise<AccessToken | null> {
  try {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const key = kid === undefined ? null : await keyOf(kid);
        if (key === null || !maySign(key, nowMs)) throw new Error("No key of ours");
        return createPublicKey({ key: { ...key.jwk }, format: "jwk" });
      },
      {
        issuer: identity,
        audience: identity,
        algorithms: ["EdDSA"],
        typ: tokenType,
        currentDate: new Date(nowMs),
      },
    );
    if (!claimsOfOurs().Check(payload)) return null;
    return {
      clientId: payload.client_id,
      keyVersion: payload.key_version ?? 0,
      scopes: scopesIn(payload.scope),
      expiresAt: payload.exp * 1000,
    };
  } catch {
    return null;
  }
}

/** Whoever got hold of a retired key can sign for ever; its tokens end when its last honest one would. */
function maySign({ retiredAt }: KnownSigningKey, nowMs: number): boolean {
  return retiredAt === null || nowMs < retiredAt + accessTokenSeconds * 1000;
}

/** The scopes in a space-separated list that mean something here. */
export function scopesIn(text: string): Scope[] {
  return [...new Set(text.split(" "))].filter(isScope);
}

/**
 * How the server proves to a webhook who it is when it was given no credentials: a JWT for that webhook alone, signed with
 * the key that signs receipts, to be checked with `/.well-known/jwks.json`. Its type keeps it from being an access token.
 */

import { SignJWT } from "jose";
import type { SigningKey } from "../receipts/keys.ts";

const webhookTokenSeconds = 5 * 60;

export interface WebhookTokenClaims {
  /** Where clients find this server. */
  issuer: string;
  /** The origin of the webhook. */
  audience: string;
  jti: string;
  taskId: string;
}

export async function mintWebhookToken(
  key: SigningKey,
  { issuer, audience, jti, taskId }: WebhookTokenClaims,
  nowMs: number,
): Promise<string> {
  const issuedAt = Math.floor(nowMs / 1000);
  return await new SignJWT({ task_id: taskId })
    .setProtectedHeader({ alg: "EdDSA", kid: key.kid, typ: "JWT" })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + webhookTokenSeconds)
    .setJti(jti)
    .sign(key.privateKey);
}

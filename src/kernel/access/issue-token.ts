/**
 * An access token for a client that proves to have an API key (OAuth2 client credentials). Nothing is recorded: what a
 * token can do is decided by its key whenever it is used.
 */

import { accessTokenSeconds, mintAccessToken } from "../../policy/access-token.ts";
import { hashApiKey, keyIdOf } from "../../policy/api-key.ts";
import { isScope, mayUse, type Scope } from "../../policy/caller.ts";
import { addressGroup } from "../../policy/rate-limit.ts";
import type { NewId } from "../core/ids.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import type { Issuer } from "../receipts/signing.ts";
import { authFailure } from "./auth-failure.ts";
import { type AuthenticateDeps, tooManyFailures } from "./authenticate.ts";
import { callerOf, mayComeFrom, type PresentedKey, presentedKey, tokenHolder } from "./client-keys.ts";

export interface TokenRequest {
  clientId: string;
  clientSecret: string;
  /** Space-separated; everything that the key may do when absent. */
  scope: string | null;
  /** The address that it came from. */
  from: string;
}

export interface IssuedToken {
  token: string;
  expiresInSeconds: number;
  scopes: Scope[];
}

/** Why there is no token, in the words of RFC 6749. */
export class TokenRefused extends Error {
  override name = "TokenRefused";
  readonly reason: "invalid_client" | "invalid_scope";

  constructor(reason: TokenRefused["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

export type IssueToken = (request: TokenRequest) => Promise<IssuedToken>;

export interface IssueTokenDeps extends AuthenticateDeps {
  newId: NewId;
  issuer: Issuer;
}

export function createIssueToken(deps: IssueTokenDeps): IssueToken {
  const { clock, known, issuer, newId } = deps;
  return async function issueToken(request) {
    const { generation } = known;
    const presented = await authenticateClient(deps, request);
    const { key, version: keyVersion } = presented;
    const scopes = scopesFor(key, request.scope);
    const caller = callerOf(key);
    deps.use.note(caller);
    const { actor, tenantId, workspaceIds } = caller;
    const claims = { jti: newId("tok"), clientId: key.id, actor, tenantId, workspaceIds, scopes, keyVersion };
    const { token, expiresAt } = await mintAccessToken(issuer.key, deps.identity(), claims, clock.now());
    // Its first use needs no check: it works from an address, too, from which others fail all the time.
    known.remember(hashApiKey(token), tokenHolder(presented, scopes, expiresAt), generation);
    return { token, expiresInSeconds: accessTokenSeconds, scopes };
  };
}

/** Failures count against the address and against the client; whoever has the right secret is never held up. */
async function authenticateClient(
  { store, clock, failures, onFailure }: IssueTokenDeps,
  { clientId, clientSecret, from }: TokenRequest,
): Promise<PresentedKey> {
  const presented = await presentedKey(store, clientSecret, clock.now());
  const isTheirs = presented?.key.id === clientId && mayComeFrom(callerOf(presented.key), from);
  if (presented !== null && isTheirs) return presented;
  onFailure(await authFailure(store, clientSecret, from, clock.now()));
  const culprits = [addressGroup(from), ...(isKeyId(clientId) ? [clientId] : [])];
  const secondsToWait = Math.max(...culprits.map((who) => failures.secondsToWait(who)));
  if (secondsToWait > 0) throw tooManyFailures(secondsToWait);
  for (const who of culprits) failures.count(who);
  throw new TokenRefused("invalid_client", "The client is unknown, or this is not its secret.");
}

function isKeyId(clientId: string): boolean {
  return keyIdOf(`bridle_${clientId}_${"A".repeat(43)}`) !== null;
}

function scopesFor(key: ApiKeyRecord, asked: string | null): Scope[] {
  if (asked === null) return key.scopes;
  const caller = callerOf(key);
  return [...new Set(asked.split(" "))].map((scope) => {
    if (isScope(scope) && mayUse(caller, scope)) return scope;
    // Not which one: a scope that is asked for can be anything, a secret in the wrong place too.
    throw new TokenRefused("invalid_scope", "The client may not have all of these scopes.");
  });
}

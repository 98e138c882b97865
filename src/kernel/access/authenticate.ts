/**
 * From what a client presents to a caller: the administrator's key, an API key, an access token of ours, or a token of an
 * issuer that the operator trusts. Whatever is unknown, wrong, expired or revoked is simply not a caller.
 */

import { claimedIssuer, readAccessToken } from "../../policy/access-token.ts";
import type { AdminKeyHolder } from "../../policy/admin-key.ts";
import { hashApiKey } from "../../policy/api-key.ts";
import { type Caller, mayUse, systemCaller } from "../../policy/caller.ts";
import { type ExternalIssuers, KeysUnavailable } from "../../policy/external-issuers.ts";
import { addressGroup, type RateLimit } from "../../policy/rate-limit.ts";
import type { WholeStore } from "../../store/whole-store.ts";
import { type Clock, timestamp } from "../core/clock.ts";
import { HarnessError } from "../core/errors.ts";
import type { SigningKeyRecord } from "../kinds/signing-key.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { type AuthFailure, authFailure } from "./auth-failure.ts";
import type { CallerCache, KnownCaller } from "./caller-cache.ts";
import {
  callerOf,
  holderOf,
  mayComeFrom,
  ofVersion,
  presentedKey,
  tokenHolder,
  usableKey,
} from "./client-keys.ts";
import type { KeyUse } from "./key-use.ts";
import type { RequestRates } from "./request-rates.ts";

/** `from` is the address that it came from, whose failures are counted. Who is known already is told at once. */
export type Authenticate = (presented: string, from?: string) => Promise<Caller | null> | Caller | null;

export interface AuthenticateDeps {
  /** Whose a key is follows from the key. */
  store: WholeStore;
  clock: Clock;
  adminKey: AdminKeyHolder;
  known: CallerCache;
  failures: RateLimit;
  /** Hears of every credential that is refused. */
  onFailure(failure: AuthFailure): void;
  /** The name under which this server issues tokens and accepts them. */
  identity(): string;
  external: ExternalIssuers | null;
  /** Hears of every key that was used. */
  use: KeyUse;
  /** Counts the requests of each. */
  rates: RequestRates;
}

/** A token that was good is not verified again for this long, in which its issuer may take its key back. */
const externalKnownMs = 60_000;

export function createAuthenticate(deps: AuthenticateDeps): Authenticate {
  const { known, failures, adminKey } = deps;
  const administrator: Caller = { ...systemCaller(defaultTenantId), actor: "admin" };

  function welcome(caller: Caller, from: string | undefined): Caller {
    deps.use.note(caller);
    return counted(caller, from);
  }

  /** Who is only asked about, of a connection that is open, sends no request. */
  function counted(caller: Caller, from: string | undefined): Caller {
    if (from !== undefined) deps.rates.take(caller);
    return callingFrom(caller, from);
  }

  return function authenticate(presented, from) {
    if (presented === "") return null;
    const hash = hashApiKey(presented);
    if (adminKey.accepts(hash)) return counted(administrator, from);
    const remembered = known.find(hash);
    if (remembered !== null && mayComeFrom(remembered, from)) return welcome(remembered, from);
    return authenticateUnknown(presented, from, { hash, remembered });
  };

  async function authenticateUnknown(
    presented: string,
    from: string | undefined,
    { hash, remembered }: { hash: string; remembered: Caller | null },
  ): Promise<Caller | null> {
    const who = from === undefined ? null : addressGroup(from);
    const secondsToWait = who === null ? 0 : failures.secondsToWait(who);
    const { generation } = known;
    const found = remembered === null ? await identify(deps, presented, secondsToWait > 0) : null;
    if (found !== null) {
      known.remember(hash, found, generation);
      if (mayComeFrom(found.caller, from)) return welcome(found.caller, from);
    }
    if (from !== undefined) deps.onFailure(await authFailure(deps.store, presented, from, deps.clock.now()));
    if (secondsToWait > 0) throw tooManyFailures(secondsToWait);
    if (who !== null) failures.count(who);
    return null;
  }
}

function callingFrom(caller: Caller, address: string | undefined): Caller {
  return address === undefined ? caller : { ...caller, address };
}

/**
 * An API key costs a hash and a lookup, which everybody gets: a client gone wrong must not shut out its neighbours
 * behind the same address. A signature is only checked for those who do not fail all the time.
 */
async function identify(
  deps: AuthenticateDeps,
  presented: string,
  onlyCheap: boolean,
): Promise<KnownCaller | null> {
  const issuer = claimedIssuer(presented);
  if (issuer === null) return await identifyKey(deps, presented);
  if (onlyCheap) return null;
  if (issuer === deps.identity()) return await identifyOwnToken(deps, presented);
  return await identifyExternalToken(deps, presented, issuer);
}

async function identifyKey(
  { store, clock }: AuthenticateDeps,
  presented: string,
): Promise<KnownCaller | null> {
  const key = await presentedKey(store, presented, clock.now());
  return key === null ? null : holderOf(key);
}

async function identifyOwnToken(deps: AuthenticateDeps, presented: string): Promise<KnownCaller | null> {
  const { store, clock } = deps;
  const token = await readAccessToken(presented, {
    identity: deps.identity(),
    nowMs: clock.now(),
    async keyOf(kid) {
      const document = await store.of(defaultTenantId).get("signing_key", kid);
      if (document === undefined) return null;
      const { jwk, retired_at } = document.body as SigningKeyRecord;
      return { jwk, retiredAt: retired_at === null ? null : Date.parse(retired_at) };
    },
  });
  const record = token === null ? null : await usableKey(store, token.clientId, clock.now());
  const key = token === null || record === null ? null : ofVersion(record, token.keyVersion, clock.now());
  if (token === null || key === null) return null;
  const caller = callerOf(key.key);
  const scopes = token.scopes.filter((scope) => mayUse(caller, scope));
  return tokenHolder(key, scopes, token.expiresAt);
}

async function identifyExternalToken(
  { store, clock, external }: AuthenticateDeps,
  presented: string,
  issuer: string,
): Promise<KnownCaller | null> {
  if (external === null || !external.trusts(issuer)) return null;
  try {
    const token = await external.read(presented, issuer, clock.now());
    // A tenant is made by an administrator, never by a token that names it.
    if (
      token === null ||
      (await store.of(token.caller.tenantId).get("tenant", token.caller.tenantId)) === undefined
    )
      return null;
    const expiresAt = Math.min(token.expiresAt, clock.now() + externalKnownMs);
    return { caller: { ...token.caller, expiresAt: timestamp(token.expiresAt) }, expiresAt };
  } catch (error) {
    if (!(error instanceof KeysUnavailable)) throw error;
    throw new HarnessError(
      "upstream_unavailable",
      "The keys of the token's issuer cannot be had now, so the token cannot be checked.",
    );
  }
}

export function tooManyFailures(secondsToWait: number): HarnessError {
  return new HarnessError(
    "rate_limited",
    `Too many credentials from this address were wrong. Try again in ${secondsToWait} seconds.`,
    { details: { retry_after_seconds: secondsToWait } },
  );
}

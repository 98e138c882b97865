/**
 * Who may be a host: do what agents ask of the outside, see what they send for it, and be believed. That takes a scope of its own.
 * One capability (`host:<name>`) is for sessions that the same actor made; `hosts:write` is for all capabilities and sessions.
 */

import type { Caller } from "../../policy/caller.ts";
import { HarnessError } from "../core/errors.ts";

/** What a host call is about; `madeBy` made the session, or began the run of a shell. Nobody is known for old sessions. */
export interface HostPlace {
  madeBy: string | undefined;
  capability: string;
}

export function mayHost(caller: Caller, place: HostPlace): boolean {
  return isHostEverywhere(caller) || (hasScope(caller, place) && place.madeBy === caller.actor);
}

export function assertMayHost(caller: Caller, place: HostPlace): void {
  if (mayHost(caller, place)) return;
  const { capability } = place;
  if (hasScope(caller, place)) {
    throw new HarnessError(
      "permission_denied",
      `Only the actor that made the session can be its host with host:${capability}; for other sessions this needs the scope hosts:write.`,
      { details: { required_scope: "hosts:write" } },
    );
  }
  throw new HarnessError(
    "permission_denied",
    `To be a host for ${capability} this needs the scope host:${capability} or hosts:write.`,
    { details: { required_scope: `host:${capability}` } },
  );
}

function isHostEverywhere({ scopes }: Caller): boolean {
  return scopes.has("hosts:write") || scopes.has("admin");
}

function hasScope({ scopes }: Caller, { capability }: HostPlace): boolean {
  return scopes.has(`host:${capability}`);
}

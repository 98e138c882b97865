/** How often an enforcer or an approver may call, and how often somebody may try a pairing code. */

import type { Principal } from "../../harp/gateway/principal.ts";
import type { GatewaySettings } from "../../harp/gateway/settings.ts";
import type { Caller } from "../../policy/caller.ts";
import { RateLimit } from "../../policy/rate-limit.ts";
import { countCall } from "./admit.ts";

/** How much more often than one of its approvers a tenant may try. */
const pairingsOfTenant = 4;

/** To one session from one caller: far more than a person types, and few for a script gone wrong. */
const promptsPerMinute = 60;

/** Anybody whose calls are counted. */
export interface CountedParty {
  tenantId: string;
  role: Principal["role"] | "caller";
  id: string;
}

export class Limits {
  readonly #calls: RateLimit;
  readonly #newCodes: RateLimit;
  readonly #pairings: RateLimit;
  readonly #pairingsOfTenants: RateLimit;
  readonly #prompts: RateLimit;

  constructor({ callsPerMinute, pairingsPerMinute }: GatewaySettings, now: () => number) {
    this.#calls = new RateLimit(callsPerMinute, now);
    this.#newCodes = new RateLimit(pairingsPerMinute, now);
    this.#pairings = new RateLimit(pairingsPerMinute, now);
    this.#pairingsOfTenants = new RateLimit(pairingsPerMinute * pairingsOfTenant, now);
    this.#prompts = new RateLimit(promptsPerMinute, now);
  }

  call(party: CountedParty): void {
    countCall(this.#calls, nameOf(party));
  }

  /** For one prompt: how long its sender has to wait, settled with the first question. Those for no session are one group. */
  prompt({ tenantId, actor }: Caller): (sessionId: string | null) => number {
    let settled: number | null = null;
    return (sessionId) => {
      if (settled !== null) return settled;
      const who = JSON.stringify([tenantId, actor, sessionId]);
      settled = this.#prompts.secondsToWait(who);
      if (settled === 0) this.#prompts.count(who);
      return settled;
    };
  }

  /** A code is asked for. */
  newCode(principal: Principal): void {
    countCall(this.#newCodes, nameOf(principal));
  }

  /** Right or wrong: a guess is not known to be one before it was made. */
  pairing(principal: Principal): void {
    countCall(this.#pairingsOfTenants, principal.tenantId);
    countCall(this.#pairings, nameOf(principal));
  }
}

function nameOf({ tenantId, role, id }: CountedParty): string {
  return JSON.stringify([tenantId, role, id]);
}

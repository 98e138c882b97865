/** How often an enforcer or an approver may call, and how often somebody may try a pairing code. */

import type { Principal } from "../../gateway/principal.ts";
import type { GatewaySettings } from "../../gateway/settings.ts";
import { RateLimit } from "../../policy/rate-limit.ts";
import { countCall } from "./admit.ts";

/** How much more often than one of its approvers a tenant may try. */
const pairingsOfTenant = 4;

export class Limits {
  readonly #calls: RateLimit;
  readonly #newCodes: RateLimit;
  readonly #pairings: RateLimit;
  readonly #pairingsOfTenants: RateLimit;

  constructor({ callsPerMinute, pairingsPerMinute }: GatewaySettings, now: () => number) {
    this.#calls = new RateLimit(callsPerMinute, now);
    this.#newCodes = new RateLimit(pairingsPerMinute, now);
    this.#pairings = new RateLimit(pairingsPerMinute, now);
    this.#pairingsOfTenants = new RateLimit(pairingsPerMinute * pairingsOfTenant, now);
  }

  call(principal: Principal): void {
    countCall(this.#calls, nameOf(principal));
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

function nameOf({ tenantId, role, id }: Principal): string {
  return JSON.stringify([tenantId, role, id]);
}

/** An enforcer takes its request back, as long as it is pending; what was decided stays decided. */

import type { ExchangeWithdrawn } from "../core/wire.ts";
import type { Change } from "./exchanges.ts";
import type { Gateway } from "./gateway.ts";
import { actorOf, type Principal, requireRole } from "./principal.ts";
import { type Exchange, enforcerMailbox } from "./records/exchange.ts";
import { stateAfter } from "./records/states.ts";
import { exchangeNotFound } from "./refusals.ts";

export async function withdraw(
  gateway: Gateway,
  principal: Principal,
  requestId: string,
): Promise<ExchangeWithdrawn> {
  requireRole(principal, "enforcer");
  await gateway.heardFrom(principal);
  const ref = { tenantId: principal.tenantId, requestId };
  return await gateway.exchanges.change(ref, (exchange, { nowMs }): Change<ExchangeWithdrawn> => {
    if (exchange === null || !isOwner(principal, exchange)) throw exchangeNotFound();
    const { enforcerId } = exchange;
    const state = stateAfter("withdraw", exchange.state);
    const next: Exchange = { ...exchange, state, endedAtMs: nowMs };
    return {
      result: gateway.envelopes.exchangeWithdrawn(next, { enforcerId }),
      write: { next, event: "exchange.withdrawn", actor: actorOf(enforcerMailbox(exchange)) },
    };
  });
}

/** An administrator of the tenant sees how it stands. */
export function isOwner({ role, id }: Principal, { enforcerId }: Exchange): boolean {
  return role === "admin" || (role === "enforcer" && id === enforcerId);
}

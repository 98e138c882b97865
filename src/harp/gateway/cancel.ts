/** Who administers a tenant ends what is pending in it, for good: nobody may decide it any more. */

import type { ExchangeState } from "../core/wire.ts";
import type { Change } from "./exchanges.ts";
import type { Gateway } from "./gateway.ts";
import { actorOf, type Principal, requireRole } from "./principal.ts";
import type { Exchange } from "./records/exchange.ts";
import { stateAfter } from "./records/states.ts";
import { exchangeNotFound } from "./refusals.ts";

export async function cancel(
  gateway: Gateway,
  principal: Principal,
  requestId: string,
): Promise<ExchangeState> {
  requireRole(principal, "admin");
  const ref = { tenantId: principal.tenantId, requestId };
  return await gateway.exchanges.change(ref, (exchange, { nowMs }): Change<ExchangeState> => {
    if (exchange === null) throw exchangeNotFound();
    const state = stateAfter("cancel", exchange.state);
    const next: Exchange = { ...exchange, state, endedAtMs: nowMs };
    return { result: state, write: { next, event: "exchange.cancelled", actor: actorOf(principal) } };
  });
}

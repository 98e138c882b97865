/** Where an exchange stands, for the enforcer whose it is and the approvers whom it was sent to. */

import type { ExchangeStatus } from "../core/wire.ts";
import type { Gateway } from "./gateway.ts";
import type { Principal } from "./principal.ts";
import { chosenIn, type Exchange } from "./records/exchange.ts";
import { exchangeNotFound } from "./refusals.ts";
import { isOwner } from "./withdraw.ts";

export async function exchangeStatus(
  gateway: Gateway,
  principal: Principal,
  requestId: string,
): Promise<ExchangeStatus> {
  await gateway.heardFrom(principal);
  return gateway.envelopes.exchangeStatus(await findExchange(gateway, principal, requestId));
}

/** The same refusal for what is not there and for what is none of the caller's business. */
export async function findExchange(
  { exchanges }: Gateway,
  principal: Principal,
  requestId: string,
): Promise<Exchange> {
  const exchange = await exchanges.read({ tenantId: principal.tenantId, requestId });
  if (exchange === null || !isParty(principal, exchange)) throw exchangeNotFound();
  return exchange;
}

function isParty(principal: Principal, exchange: Exchange): boolean {
  const isChosen = principal.role === "approver" && chosenIn(exchange, principal.id) !== undefined;
  return isChosen || isOwner(principal, exchange);
}

/** An approver asks an enforcer to ask again, which only works while the enforcer listens: nothing is kept for later. */

import { findExchange } from "./exchange-status.ts";
import type { Gateway } from "./gateway.ts";
import { type Principal, requireRole } from "./principal.ts";
import { enforcerMailbox } from "./records/exchange.ts";
import { refusal } from "./refusals.ts";

/** `enforcerId` is the one that the caller believes it to be; without one, whoever it is. */
export async function refresh(
  gateway: Gateway,
  principal: Principal,
  requestId: string,
  enforcerId: string | null,
): Promise<void> {
  requireRole(principal, "approver");
  await gateway.heardFrom(principal);
  const exchange = await findExchange(gateway, principal, requestId);
  if (enforcerId !== null && enforcerId !== exchange.enforcerId) {
    throw refusal("EnforcerNotFound", "This exchange is not that of this enforcer.");
  }
  const channel = gateway.channels.primary(enforcerMailbox(exchange));
  if (channel === null || !channel.hint(gateway.envelopes.refreshRequest(exchange))) {
    throw refusal("EnforcerOffline", "The enforcer does not listen now. Try again later.");
  }
}

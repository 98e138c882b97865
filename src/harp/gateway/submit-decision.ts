/** An approver decides: the first decision that is accepted ends what was pending, and is kept for the enforcer as it came. */

import type { DecisionAccepted, DecisionBody, DecisionSubmit } from "../core/wire.ts";
import type { Change } from "./exchanges.ts";
import type { Gateway } from "./gateway.ts";
import { actorOf, mailboxFor, type Principal } from "./principal.ts";
import { type AcceptedDecision, chosenIn, type Exchange, hashOf } from "./records/exchange.ts";
import { stateAfter } from "./records/states.ts";
import { exchangeNotFound, refusal } from "./refusals.ts";

export async function submitDecision(
  gateway: Gateway,
  principal: Principal,
  { requestId, sender, body }: DecisionSubmit,
): Promise<DecisionAccepted> {
  const { deps, exchanges, envelopes } = gateway;
  const approver = mailboxFor(principal, { role: "approver", id: sender.approverId ?? "" });
  await gateway.approvers.note(approver.tenantId, approver.id);
  const ref = { tenantId: approver.tenantId, requestId };

  return await exchanges.change(ref, (exchange, { nowMs, stamp }): Change<DecisionAccepted> => {
    if (exchange === null) throw exchangeNotFound();
    if (chosenIn(exchange, approver.id) === undefined) {
      throw refusal("Forbidden", "This exchange was not sent to this approver.");
    }
    if (exchange.decision !== null && isDuplicate(exchange.decision.body, body)) {
      stateAfter("decision_duplicate", exchange.state);
      return { result: envelopes.decisionAccepted(exchange, exchange.decision, true) };
    }
    const state = stateAfter("decision_new", exchange.state);
    if (hashOf(body) !== hashOf(exchange)) {
      throw refusal("ArtifactHashMismatch", "The decision is about another artifact than this exchange.");
    }
    const decision: AcceptedDecision = {
      body,
      approverId: approver.id,
      msgId: deps.newId("msg"),
      decidedAt: stamp(),
      acked: null,
    };
    const next: Exchange = { ...exchange, state, decision, endedAtMs: nowMs };
    const { decision: verdict, signerKeyId } = body;
    const payload = { approverId: approver.id, decision: verdict, signerKeyId };
    return {
      result: envelopes.decisionAccepted(next, decision, false),
      write: { next, event: "exchange.decided", actor: actorOf(approver), payload },
    };
  });
}

/** Remarks may differ: the first ones stand. A hash that cannot be checked here is no way to know a decision by. */
function isDuplicate(accepted: DecisionBody, body: DecisionBody): boolean {
  return (
    accepted.signerKeyId === body.signerKeyId &&
    accepted.nonce === body.nonce &&
    accepted.decision === body.decision &&
    accepted.signature === body.signature &&
    hashOf(accepted) === hashOf(body)
  );
}

/** What the enforcer records while it looks after what approvers are asked: whom it asks, what the gateway has, what is over. */

import type { Command } from "../core/dispatch.ts";
import { exchangesOf, isLive } from "../kinds/exchange.ts";
import { audit } from "./audit.ts";
import { close, openExchanges, subjectIdOf } from "./exchanges.ts";
import { settleDueChange } from "./policy-changes.ts";
import { type ApprovalSubject, askedPolicies, findSubject } from "./subjects.ts";

/** Puts what is pending to everybody who has to be asked, and settles a change whose time has come. Null when it is gone. */
export const askApprovers: Command<{ subjectId: string }, ApprovalSubject | null> = {
  name: "ask_approvers",
  scope: "admin",
  decide(unit, { subjectId }) {
    const found = findSubject(unit, subjectId);
    if (found === undefined || found.status !== "pending") return found ?? null;
    const subject = found.object === "policy_change" ? settleDueChange(unit, found) : found;
    const policies = subject.status === "pending" ? askedPolicies(unit, subject) : null;
    return policies === null ? subject : openExchanges(unit, subject, policies);
  },
};

export type ExchangeNote =
  /** The gateway has it. */
  | { note: "submitted" }
  /** The gateway knows that it is over. */
  | { note: "settled" }
  /** It cannot be decided as it is; the approver is asked anew while the request waits. */
  | { note: "closed"; reason: string }
  /** The gateway does not take it now. */
  | { note: "delayed"; problem: string };

export const noteExchange: Command<{ requestId: string } & ExchangeNote, null> = {
  name: "note_exchange",
  scope: "admin",
  decide(unit, { requestId, ...noted }) {
    const request = findSubject(unit, subjectIdOf(requestId));
    const exchange = request && exchangesOf(request).find(({ request_id }) => request_id === requestId);
    if (request === undefined || exchange === undefined) return null;
    const about = { request_id: requestId };
    switch (noted.note) {
      case "submitted":
        if (exchange.state === "CREATED") unit.emit(request, "vendor.bridle.approval.submitted", about);
        break;
      case "settled":
        if (!exchange.is_settled) unit.emit(request, "vendor.bridle.approval.settled", about);
        break;
      case "closed":
        if (isLive(exchange)) close(unit, request, requestId, noted.reason);
        break;
      case "delayed":
        // Said once, however often it is tried.
        if (exchange.reason !== null) break;
        unit.emit(request, "vendor.bridle.approval.delayed", { ...about, problem: noted.problem });
        audit(unit, "transport.failed", {
          requestId,
          code: "HARP_ERR_TRANSPORT",
          problem: noted.problem,
        });
        break;
    }
    return null;
  },
};

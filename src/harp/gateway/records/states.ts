/**
 * What becomes of an exchange: every event in every state. The compiler checks that no cell is missing; all that changes
 * an exchange asks here.
 */

import type { ExchangeState } from "../../core/wire.ts";
import { type RefusalCode, refusal } from "../refusals.ts";

export type ExchangeEvent =
  | "artifact_same"
  | "artifact_other"
  | "decision_new"
  | "decision_duplicate"
  | "delivery_acknowledged"
  | "request_acknowledged"
  | "withdraw"
  | "cancel"
  | "time_over";

/** `stay` is a success that changes nothing. A refusal changes nothing either. `never` is what cannot come about. */
export type Outcome = { to: ExchangeState } | { refuse: RefusalCode } | "stay" | "never";

const to = (state: ExchangeState): Outcome => ({ to: state });
const refuse = (code: RefusalCode): Outcome => ({ refuse: code });

/** Once there is an exchange of that id, another artifact cannot have it. */
const taken = refuse("AlreadyExistsConflict");
const unknown = refuse("ExchangeNotFound");
const noSuchMessage = refuse("MessageNotFound");
const decidedBefore = refuse("AlreadyDecidedConflict");
const tooLate = refuse("InvalidStateConflict");

export const transitions: Readonly<Record<ExchangeEvent, Record<ExchangeState | "none", Outcome>>> = {
  artifact_same: {
    none: to("pendingApproval"),
    pendingApproval: "stay",
    decided: "stay",
    delivered: "stay",
    expired: "stay",
    withdrawn: "stay",
    cancelled: "stay",
  },
  artifact_other: {
    none: to("pendingApproval"),
    pendingApproval: taken,
    decided: taken,
    delivered: taken,
    expired: taken,
    withdrawn: taken,
    cancelled: taken,
  },
  decision_new: {
    none: unknown,
    pendingApproval: to("decided"),
    decided: decidedBefore,
    delivered: decidedBefore,
    expired: refuse("ExchangeExpiredConflict"),
    withdrawn: refuse("ExchangeWithdrawn"),
    cancelled: refuse("ExchangeCancelledConflict"),
  },
  decision_duplicate: {
    none: unknown,
    pendingApproval: "never",
    decided: "stay",
    delivered: "stay",
    expired: "never",
    withdrawn: "never",
    cancelled: "never",
  },
  delivery_acknowledged: {
    none: noSuchMessage,
    pendingApproval: noSuchMessage,
    decided: to("delivered"),
    delivered: "stay",
    expired: "never",
    withdrawn: "never",
    cancelled: "never",
  },
  request_acknowledged: {
    none: noSuchMessage,
    pendingApproval: "stay",
    decided: "stay",
    delivered: "stay",
    expired: "stay",
    withdrawn: "stay",
    cancelled: "stay",
  },
  withdraw: {
    none: unknown,
    pendingApproval: to("withdrawn"),
    decided: tooLate,
    delivered: tooLate,
    expired: tooLate,
    withdrawn: tooLate,
    cancelled: tooLate,
  },
  cancel: {
    none: unknown,
    pendingApproval: to("cancelled"),
    decided: tooLate,
    delivered: tooLate,
    expired: tooLate,
    withdrawn: tooLate,
    cancelled: tooLate,
  },
  time_over: {
    none: "never",
    pendingApproval: to("expired"),
    decided: "stay",
    delivered: "stay",
    expired: "stay",
    withdrawn: "stay",
    cancelled: "stay",
  },
};

const messages: Partial<Record<RefusalCode, string>> = {
  AlreadyExistsConflict: "This requestId is that of another artifact. A new artifact needs a new one.",
  ExchangeNotFound: "No exchange of this requestId is known to you here.",
  MessageNotFound: "No message of this msgId was sent to you about this requestId.",
  AlreadyDecidedConflict: "This exchange was decided before, and its decision stands.",
  ExchangeExpiredConflict: "The time in which this exchange could be decided is over.",
  ExchangeWithdrawn: "This exchange was withdrawn by its enforcer.",
  ExchangeCancelledConflict: "This exchange was cancelled.",
  InvalidStateConflict: "Only an exchange that is still pending can be taken back.",
};

/** The state after the event: another one, or the same when nothing changes. Throws what the event is refused with. */
export function stateAfter(event: ExchangeEvent, state: ExchangeState | "none"): ExchangeState {
  const outcome = transitions[event][state];
  if (outcome === "stay" && state !== "none") return state;
  if (typeof outcome === "string") throw new Error(`The event ${event} cannot come about in state ${state}`);
  if ("to" in outcome) return outcome.to;
  const isAboutState = outcome.refuse === "InvalidStateConflict";
  throw refusal(outcome.refuse, messages[outcome.refuse] ?? "Refused.", isAboutState ? { state } : {});
}

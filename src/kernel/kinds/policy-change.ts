/**
 * A change that the approvers it concerns have to agree to: of a persona that wants their signatures, or of who they are.
 * Until then nothing of it holds.
 */

import type { ApprovalProof } from "../../harp/core/proof.ts";
import type { KernelEvent } from "../core/events.ts";
import { closed, type Exchange, exchangesOf, exchangesWakeAt, foldExchanges, isLive } from "./exchange.ts";
import type { ApprovalPolicy, PersonaChanges } from "./persona.ts";
import type { Resource } from "./resource.ts";
import type { Submitter } from "./submitter.ts";

export type PolicyChange =
  | { kind: "persona"; persona_id: string; changes: PersonaChanges }
  | { kind: "approver_key"; signer_key_id: string; replaces: string | null; overlap_ms: number };

/** How it ended. `unopposed`: nobody refused it while it waited. */
export type ChangeOutcome = {
  decision: "approved" | "unopposed" | "denied" | "withdrawn" | "timeout";
  reason: string | null;
  decided_by: string;
  /** The signatures that it rests on. */
  proof?: ApprovalProof;
};

export interface PolicyChangeRecord extends Resource<"policy_change"> {
  status: "pending" | "approved" | "denied";
  change: PolicyChange;
  /** What approvers are shown. */
  action: string;
  details: string;
  requested_by: string;
  /** Whoever that is, for schedules that the change adds. */
  requester?: Submitter;
  /** Enough approvers must agree under each of these. */
  policies: ApprovalPolicy[];
  /** Whether all approvers of the tenant are asked, and can refuse, or those of the policies. */
  asks_everybody: boolean;
  /** When it takes effect if nobody refuses; null needs signatures. */
  effective_at: string | null;
  expires_at: string;
  exchanges?: Exchange[];
  outcome: ChangeOutcome | null;
}

export function foldPolicyChange(change: PolicyChangeRecord, event: KernelEvent): PolicyChangeRecord {
  if (event.event !== "vendor.bridle.policy_change.settled") return foldExchanges(change, event);
  const { outcome } = event.payload;
  return {
    ...change,
    status: outcome.decision === "approved" || outcome.decision === "unopposed" ? "approved" : "denied",
    outcome,
    exchanges: exchangesOf(change).map((exchange) => closed(exchange, "the change is decided")),
    updated_at: event.createdAt,
  };
}

/** When somebody has to look after it: as its exchanges say, and when it takes effect or expires. */
export function policyChangeWakeAt(change: PolicyChangeRecord): number | null {
  const wakeAt = exchangesWakeAt(change);
  if (change.status !== "pending") return wakeAt;
  const due = Date.parse(change.expires_at);
  const isAsking = exchangesOf(change).some(isLive);
  return wakeAt === null || !isAsking ? due : Math.min(wakeAt, due);
}

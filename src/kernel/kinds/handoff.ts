/**
 * A hand-off: work that a run gave to a remote agent. The record is all that is needed to go on with it after a crash:
 * what is still to be said to the remote, what is known of its task, who waits for it, and when to look next.
 */

import type { JsonObject } from "../../store/port.ts";
import type { Content } from "../core/content.ts";
import type { KernelEvent } from "../core/events.ts";
import type { Part } from "./message.ts";
import { type MembersOf, picked } from "./picked.ts";
import type { Resource } from "./resource.ts";

/** What the callee is told of the caller. Its hash is in the receipts of both. */
export type Delegation = {
  /** The server that hands the work over. */
  issuer: string;
  workspace_id: string;
  task_id: string;
  handoff_id: string;
  /** Of what is known of the caller's task before it ends: who asked whom for what. */
  task_hash: string;
  /** Of the parts that are sent. */
  input_hash: string;
  /** The last receipt of the caller's workspace at that time. */
  chain_head: string | null;
};

/** The receipt of the remote's task, as the remote names it. */
export type RemoteReceipt = { receipt_id: string; receipt_hash: string };

/** Keys that must have signed the remote's card. */
export type Trust = { keys: JsonObject[]; jwks_urls: string[] };

export interface Outgoing {
  message_id: string;
  parts: Content<Part[]>;
}

export interface Remote {
  /** Null when the remote answered with a message alone. */
  task_id: string | null;
  context_id: string | null;
  state: string;
  /** Names the interruption that the run was told of, so that it is not told of it twice. */
  mark: string | null;
  /** The last streamed event that was seen, of a remote that can go on from there. */
  cursor: string | null;
}

export interface HandoffRecord extends Resource<"handoff"> {
  workspace_id: string;
  session_id: string;
  task_id: string;
  /** The step that began it: its name in quotas and receipts. */
  first_step: string;
  /** The step that waits now; none while the run decides what comes next. */
  step: string | null;
  url: string;
  /** The name of the secret that is sent as a bearer token, never its value. */
  credentials: { name: string; vault_id: string | null } | null;
  trust: Trust | null;
  delegation: Delegation;
  /** What is to be sent and is not known to have arrived. */
  outgoing: Outgoing | null;
  remote: Remote | null;
  /** `canceling`: nobody waits any more, and the remote is yet to be told. */
  status: "open" | "canceling" | "ended";
  /** What went wrong the last time, in words that an operator understands. */
  problem: string | null;
  /** Failures in a row. */
  attempts: number;
  look_at: string;
  expires_at: string;
}

export type HandoffChanges = Partial<
  Pick<HandoffRecord, "step" | "outgoing" | "remote" | "status" | "problem" | "attempts" | "look_at">
>;

const changeable: MembersOf<HandoffChanges> = {
  step: true,
  outgoing: true,
  remote: true,
  status: true,
  problem: true,
  attempts: true,
  look_at: true,
};

export function foldHandoff(handoff: HandoffRecord, event: KernelEvent): HandoffRecord {
  if (event.event !== "vendor.bridle.handoff.updated") return handoff;
  return { ...handoff, ...picked(event.payload.changes, changeable), updated_at: event.createdAt };
}

/** When somebody must look at it next; never once it has ended. */
export function handoffWakeAt({ status, look_at }: HandoffRecord): number | null {
  return status === "ended" ? null : Date.parse(look_at);
}

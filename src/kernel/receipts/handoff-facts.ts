/** What a task's log says about work that went to others, and about who the task itself is done for. */

import { hashOf } from "../../receipts/canonical.ts";
import type { Handoff } from "../../receipts/schema.ts";
import type { JsonObject, JsonValue } from "../../store/port.ts";
import type { EventPayloads, HandoffEnding, KernelEvent } from "../core/events.ts";
import { delegationUri } from "../core/extension-uris.ts";
import { hashWellFormed } from "../core/well-formed.ts";
import type { Delegation, HandoffRecord } from "../kinds/handoff.ts";

/** What is listed one by one; the rest is counted. */
const listedMax = 100;
/** What others say of themselves is taken over as far as it is this short. */
const delegationCharsMax = 2000;

/** A delegation as the caller's receipt has it: the offer, its hash, and the receipt that came of it. */
type Delegated = Delegation & {
  delegation_hash: string;
  url: string;
  remote_task_id?: string;
  remote_receipt_id?: string;
  remote_receipt_hash?: string;
};

export class HandoffFacts {
  readonly #handoffs = new Map<string, Handoff>();
  readonly #delegations = new Map<string, Delegated>();
  /** By hand-off, the step that it goes by. */
  readonly #steps = new Map<string, string>();
  #delegatedBy: (JsonObject & { delegation_hash: string }) | null = null;
  count = 0;

  add(event: KernelEvent): void {
    switch (event.event) {
      case "user.message":
        this.#noteCaller(event.payload.message.metadata[delegationUri]);
        break;
      case "span.started":
        if (event.payload.kind === "spawn") this.#handOver(event.payload);
        break;
      case "vendor.bridle.handoff.created":
        this.#delegate(event.payload.handoff);
        break;
      case "agent.handoff":
        if ("url" in event.payload) this.#accepted(event.payload.step, event.payload);
        break;
      case "span.completed":
      case "span.failed":
        if (event.payload.kind === "spawn") this.#endChild(event.payload);
        if (event.payload.handoff?.is_over === true) this.#endRemote(event.payload.handoff);
        break;
    }
  }

  get list(): Handoff[] {
    return [...this.#handoffs.values()];
  }

  /** For the metadata of the receipt. */
  get metadata(): { delegations?: Delegated[]; delegated_by?: JsonObject } {
    return {
      ...(this.#delegations.size === 0 ? {} : { delegations: [...this.#delegations.values()] }),
      ...(this.#delegatedBy === null ? {} : { delegated_by: this.#delegatedBy }),
    };
  }

  #handOver({ step, name, child_task_id }: EventPayloads["span.started"]): void {
    if (child_task_id === undefined) return;
    this.count += 1;
    if (this.#handoffs.size >= listedMax) return;
    this.#handoffs.set(step, { target_agent: name, task_id: child_task_id, status: "accepted" });
  }

  #endChild({ step, result, child }: EventPayloads["span.completed"]): void {
    const handoff = this.#handoffs.get(step);
    if (handoff === undefined) return;
    const failed = "error" in result || child?.status !== "SUCCEEDED";
    this.#handoffs.set(step, {
      ...handoff,
      status: failed ? "failed" : "completed",
      ...(child?.receipt_id == null ? {} : { receipt_id: child.receipt_id }),
    });
  }

  #delegate({ id, first_step, url, delegation }: HandoffRecord): void {
    if (this.#delegations.size >= listedMax) return;
    this.#steps.set(id, first_step);
    this.#delegations.set(first_step, {
      ...delegation,
      delegation_hash: hashWellFormed(delegation, hashOf),
      url,
    });
  }

  /** The remote has taken the work. */
  #accepted(step: string, { url, task_id }: { url: string; task_id: string }): void {
    this.count += 1;
    if (this.#handoffs.size >= listedMax) return;
    this.#handoffs.set(step, { target_agent: url, task_id, status: "accepted" });
    const delegated = this.#delegations.get(step);
    if (delegated !== undefined) this.#delegations.set(step, { ...delegated, remote_task_id: task_id });
  }

  #endRemote({ handoff_id, state, receipt }: HandoffEnding): void {
    const step = this.#steps.get(handoff_id) ?? "";
    const handoff = this.#handoffs.get(step);
    if (handoff === undefined) return;
    const named = receipt === undefined ? {} : { receipt_id: receipt.receipt_id };
    this.#handoffs.set(step, { ...handoff, status: endStatus(state), ...named });
    const delegated = this.#delegations.get(step);
    if (delegated === undefined || receipt === undefined) return;
    this.#delegations.set(step, {
      ...delegated,
      remote_receipt_id: receipt.receipt_id,
      remote_receipt_hash: receipt.receipt_hash,
    });
  }

  /** The first message of a task may say on whose behalf it is sent. */
  #noteCaller(said: JsonValue | undefined): void {
    if (this.#delegatedBy !== null || typeof said !== "object" || said === null || Array.isArray(said))
      return;
    if (JSON.stringify(said).length > delegationCharsMax) return;
    this.#delegatedBy = { ...said, delegation_hash: hashWellFormed(said, hashOf) };
  }
}

function endStatus(state: string | undefined): Handoff["status"] {
  if (state === "COMPLETED") return "completed";
  return state === "REJECTED" ? "rejected" : "failed";
}

/** Events of which nothing but their name is counted. */

import type { EventKind } from "../../kernel/core/events.ts";
import type { workMetrics } from "./definitions.ts";
import type { Instruments } from "./instruments.ts";

export function eventCounters(count: Instruments<typeof workMetrics>): ReadonlyMap<string, () => void> {
  const { questions, approvals, replays, webhooks, connectors, receipts, handoffs, schedules } = count;
  const counts = {
    "task.input_required": [questions, "asked"],
    "user.input_submitted": [questions, "answered"],
    "tool.approval_required": [approvals, "requested"],
    "tool.approved": [approvals, "approved"],
    "tool.denied": [approvals, "denied"],
    "replay.started": [replays, "started"],
    "replay.completed": [replays, "completed"],
    "replay.failed": [replays, "failed"],
    "vendor.bridle.push_config.attempt_failed": [webhooks, "failed"],
    "vendor.bridle.push_config.gave_up": [webhooks, "given_up"],
    "connector.delivery_received": [connectors, "received"],
    "connector.delivery_deduped": [connectors, "deduped"],
    "connector.failed": [connectors, "failed"],
  } as const satisfies Partial<Record<EventKind, readonly [typeof questions, string]>>;
  const plain = new Map<string, () => void>();
  for (const [name, [counter, event]] of Object.entries(counts)) {
    const labels = { event };
    // What has no series yet cannot be seen to grow: the first failure would not be one.
    counter.inc(labels, 0);
    plain.set(name, () => counter.inc(labels));
  }
  webhooks.inc({ event: "delivered" }, 0);
  for (const event of ["accepted", "ignored"]) connectors.inc({ event }, 0);
  plain.set("receipt.issued", () => receipts.inc());
  plain.set("vendor.bridle.handoff.created", () => handoffs.inc());
  plain.set("vendor.bridle.schedule.fired", () => schedules.inc());
  return plain;
}

/** The ids of receipts. Commands give them out with what the receipt is about; it is issued behind them (`projection.ts`). */

import { receiptHash } from "../../receipts/hash.ts";
import type { Unit } from "../core/unit.ts";
import type { ReplayPlan } from "../kinds/replay.ts";
import type { TaskRecord } from "../kinds/task.ts";
import { nameIn } from "../workspaces/ensure-tenant.ts";
import type { ReceiptedEnding } from "./due.ts";
import { draftReplayReceipt } from "./replay-receipt.ts";

/** For something that a task does; null where its persona wants no receipts. */
export function newReceiptId(unit: Unit, { policy }: TaskRecord): string | null {
  return policy.receipt_policy === "disabled" ? null : unit.newId("receipt");
}

/** For a task that ends now. */
export function taskReceiptId(unit: Unit, task: TaskRecord, ending: ReceiptedEnding): string | null {
  if (task.replay === null || task.policy.receipt_policy === "disabled") return newReceiptId(unit, task);
  return replayReceiptId(unit, task, task.replay, ending);
}

/** Equal replays share a receipt. If the agent's code has changed since, another outcome needs another one. */
function replayReceiptId(unit: Unit, task: TaskRecord, plan: ReplayPlan, ending: ReceiptedEnding): string {
  if (ending.status === "CANCELED") return unit.newId("receipt");
  // Another tenant can know what is replayed, and how: with the tenant in it, the name is not theirs to take.
  const id = nameIn(task.tenant_id, `receipt_replay_${plan.segment}`);
  // Of two that end together, the second must find the receipt of the first.
  unit.hold(`replay:${plan.segment}`);
  unit.awaited("receipts", () => unit.deps.receipts.caughtUp());
  const existing = unit.find("receipt", id);
  if (existing === undefined) return id;
  const history = unit.history(task.id);
  const { draft, previousHash } = unit.awaited(`draft ${id}`, () =>
    draftReplayReceipt(unit.own, id, { task, plan, ending, history }),
  );
  const hash = receiptHash({
    ...draft,
    issuer: unit.deps.issuer.describeReplay(),
    chain: { previous_receipt_hash: previousHash },
  });
  return existing.hash === hash ? id : unit.newId("receipt");
}

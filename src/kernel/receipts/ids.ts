/** The ids of receipts. Commands give them out with what the receipt is about; it is issued behind them (`projection.ts`). */

import { receiptHash } from "../../receipts/hash.ts";
import type { ReplayPlan } from "../resources/replay.ts";
import type { TaskRecord } from "../resources/task.ts";
import type { Unit } from "../unit.ts";
import type { ReceiptedEnding } from "./due.ts";
import { draftReplayReceipt } from "./replay-receipt.ts";

/** For something that a task does; null where its persona wants no receipts. */
export function newReceiptId(unit: Unit, { policy }: TaskRecord): string | null {
  return policy.receipt_policy === "disabled" ? null : unit.newId("receipt");
}

/** For a task that ends now. */
export async function taskReceiptId(
  unit: Unit,
  task: TaskRecord,
  ending: ReceiptedEnding,
): Promise<string | null> {
  if (task.replay === null || task.policy.receipt_policy === "disabled") return newReceiptId(unit, task);
  return await replayReceiptId(unit, task, task.replay, ending);
}

/** Equal replays share a receipt. If the agent's code has changed since, another outcome needs another one. */
async function replayReceiptId(
  unit: Unit,
  task: TaskRecord,
  plan: ReplayPlan,
  ending: ReceiptedEnding,
): Promise<string> {
  if (ending.status === "CANCELED") return unit.newId("receipt");
  const id = `receipt_replay_${plan.segment}`;
  // Of two that end together, the second must find the receipt of the first.
  await unit.hold(`replay:${plan.segment}`);
  await unit.deps.receipts.caughtUp();
  const existing = await unit.find("receipt", id);
  if (existing === undefined) return id;
  const replay = { task, plan, ending, history: unit.history(task.id) };
  const { draft, previousHash } = await draftReplayReceipt(unit.own, id, replay);
  const hash = receiptHash({
    ...draft,
    issuer: unit.deps.issuer.describeReplay(),
    chain: { previous_receipt_hash: previousHash },
  });
  return existing.hash === hash ? id : unit.newId("receipt");
}

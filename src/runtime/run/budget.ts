/**
 * What a step is about to use is reserved before it runs. At a hard limit the quota says what happens: the task ends,
 * with what it has done so far kept, or a person is asked whether it may go on.
 */

import type { Amounts } from "../../kernel/kinds/quota.ts";
import { type Obstacle, reserve } from "../../kernel/quotas/ledger.ts";
import { quotaInQuestion, quotaQuestion } from "../../kernel/quotas/question.ts";
import { approve } from "../context/questions.ts";
import { AgentFailure } from "./failures.ts";
import type { Run } from "./run.ts";

/** Gives false, and reserves nothing, when the caller is patient and the budget is only held up by others. */
export async function withinBudget(
  run: Run,
  step: string,
  amounts: Amounts,
  isPatient = false,
): Promise<boolean> {
  // The questions that were asked before this step the last time are asked again first.
  const { journal, knownQuotaIds } = run.recording;
  const asked = knownQuotaIds
    .map((id) => quotaQuestion(id, step))
    .filter((question) => journal.has(question));
  for (const question of asked) {
    await askToGoOn(run, step, quotaInQuestion(question) ?? "", null);
  }
  if (run.task.quota_ids.length === 0 || journal.has(step)) return true;
  const obstacle = await tryReserve(run, step, amounts, isPatient);
  if (obstacle === null) return true;
  if (isPatient && obstacle.isHeld) return false;
  await run.questions.askForBudget(() => untilReserved(run, step, amounts));
  return true;
}

/** Others may have asked meanwhile; what was granted to them is granted to all. */
async function untilReserved(run: Run, step: string, amounts: Amounts): Promise<void> {
  for (
    let obstacle = await tryReserve(run, step, amounts);
    obstacle !== null;
    obstacle = await tryReserve(run, step, amounts)
  ) {
    const { quota } = obstacle;
    if (quota.on_exhaustion === "end") return await run.stop(exhaustedFailure(quota.id, obstacle));
    await askToGoOn(run, step, quota.id, obstacle);
  }
}

async function tryReserve(
  run: Run,
  step: string,
  amounts: Amounts,
  isPatient = false,
): Promise<Obstacle | null> {
  const seen: { obstacle: Obstacle | null } = { obstacle: null };
  await run.record((unit, task) => {
    seen.obstacle = reserve(unit, task, step, amounts, isPatient);
    return unit.require("task", task.id);
  });
  await run.flush();
  return seen.obstacle;
}

/** A no ends the task, as the limit would have. */
async function askToGoOn(run: Run, step: string, quotaId: string, obstacle: Obstacle | null): Promise<void> {
  const action = `Go on beyond quota ${quotaId}`;
  const limit: Record<string, string | number> =
    obstacle === null ? {} : { limit: obstacle.limit, most: obstacle.most, used: obstacle.used };
  try {
    await approve(
      run,
      { action, payload: { quota_id: quotaId, step, ...limit } },
      { step: quotaQuestion(quotaId, step), bound: { quota_id: quotaId, step } },
    );
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    return await run.stop(exhaustedFailure(quotaId, obstacle, error.message));
  }
  if (run.task.quota_ids.length === 0) return;
  await run.record((unit, task) =>
    task.granted_quota_ids.includes(quotaId)
      ? task
      : unit.emit(task, "vendor.bridle.quota.granted", { quota_id: quotaId }),
  );
}

function exhaustedFailure(quotaId: string, obstacle: Obstacle | null, why = ""): AgentFailure {
  const what = obstacle === null ? "" : `: ${obstacle.used} of ${obstacle.most} ${obstacle.limit} are used`;
  const message = `Quota ${quotaId} is exhausted${what}.${why === "" ? "" : ` ${why}`}`;
  const { limit = null, most = null, used = null } = obstacle ?? {};
  return new AgentFailure("policy_violation", message, { quota_id: quotaId, limit, most, used });
}

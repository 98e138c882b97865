/**
 * How much a model may say before a budget is used up. It is asked for no more than that, and is stopped in the middle when it
 * says more all the same.
 */

import { type Amounts, type QuotaRecord, reservationKey } from "../../kernel/kinds/quota.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { current, usageOf } from "../../kernel/quotas/limits.ts";
import { defaultTenantId } from "../../kernel/workspaces/ensure-tenant.ts";
import type { Price } from "../../models/model.ts";
import type { StoredDocument } from "../../store/port.ts";
import type { Run } from "../run/run.ts";

/**
 * Hardly an answer is longer. Where there is room for more, no more than this is reserved, so that others can ask at the same time; and
 * a model is told no limit, because providers refuse one that is beyond what the model can say.
 */
export const answerTokensMax = 32_768;

export interface Allowance {
  /** Null when no budget is in the way. */
  outputTokens: number | null;
  /** How long it may take; null when no budget is about time. */
  wallTimeMs: number | null;
}

/** What is left of the hard limits that the task counts against; what an earlier run reserved for the step is left for it. */
export async function allowanceOf(
  run: Run,
  step: string,
  inputTokens: number,
  price: Price | null,
): Promise<Allowance> {
  const quotas = await quotasOf(run, step);
  const tokens = quotas.flatMap((quota) => tokensLeft(quota, inputTokens, price));
  const times = quotas.flatMap(({ left }) => left.wall_time_ms ?? []);
  return {
    outputTokens: tokens.length === 0 ? null : Math.max(0, Math.floor(Math.min(...tokens))),
    wallTimeMs: times.length === 0 ? null : Math.max(0, Math.min(...times) - elapsedMs(run)),
  };
}

interface Left {
  left: Amounts;
}

async function quotasOf(run: Run, step: string): Promise<Left[]> {
  const { kernel } = run;
  const own = reservationKey(run.task.id, step);
  const now = kernel.clock.now();
  // What a person has granted meanwhile is on the task as it is now.
  const granted = await grantedIds(run);
  const binding = run.task.quota_ids.filter((id) => !granted.includes(id));
  const documents = await Promise.all(binding.map((id) => findQuota(run, id)));
  return documents
    .flatMap((document) => (document === undefined ? [] : [document.body as QuotaRecord]))
    .filter(({ hard_limit, deleted_at }) => hard_limit && deleted_at === null)
    .map((quota) => ({ left: leftOf(without(own, current(quota, now)), now) }));
}

/** Of the tenant, or of the organization, which is the server's. */
async function findQuota({ kernel, own }: Run, id: string): Promise<StoredDocument | undefined> {
  return (await own.get("quota", id)) ?? (await kernel.store.of(defaultTenantId).get("quota", id));
}

async function grantedIds({ own, task }: Run): Promise<readonly string[]> {
  if (task.quota_ids.length === 0) return [];
  const document = await own.get("task", task.id);
  return (document?.body as TaskRecord | undefined)?.granted_quota_ids ?? [];
}

function without(key: string, quota: QuotaRecord): QuotaRecord {
  const { [key]: _, ...open } = quota.open;
  return { ...quota, open };
}

function leftOf(quota: QuotaRecord, now: number): Amounts {
  const used = usageOf(quota, now);
  const left = Object.entries(quota.limits).map(([name, most]) => [
    name,
    most - (name in used ? Number(used[name as keyof Amounts]) : 0),
  ]);
  return Object.fromEntries(left);
}

/** Money becomes tokens by the price of the model. */
function tokensLeft(
  { left: { output_tokens, usd } }: Left,
  inputTokens: number,
  price: Price | null,
): number[] {
  const byCount = output_tokens === undefined ? [] : [output_tokens];
  if (usd === undefined || price === null || price.output === 0) return byCount;
  return [...byCount, ((usd - (inputTokens * price.input) / 1e6) / price.output) * 1e6];
}

function elapsedMs({ task, kernel }: Run): number {
  return task.started_at === null ? 0 : kernel.clock.now() - Date.parse(task.started_at);
}

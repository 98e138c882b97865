/** Quotas: limits, and what is used of them. */

import { HarnessError, notFound } from "../../../kernel/core/errors.ts";
import { getRecord, listRecords } from "../../../kernel/core/read.ts";
import type { QuotaChanges, QuotaRecord } from "../../../kernel/kinds/quota.ts";
import { createQuota, deleteQuota, updateQuota } from "../../../kernel/quotas/change-quotas.ts";
import { current, reasonNow, usageOf } from "../../../kernel/quotas/limits.ts";
import { storageOf } from "../../../kernel/quotas/room.ts";
import { presentPage } from "../lists.ts";
import { presentRecord } from "../present.ts";
import { jsonObject } from "../read-input.ts";
import { type Call, route } from "../route.ts";
import { ListOf, PageQuery } from "../schemas.ts";
import { CreateQuotaRequest, Quota, type QuotaFields, UpdateQuotaRequest } from "../schemas-policy.ts";

const tag = "Quotas";

type Asking = Pick<Call<unknown, unknown>, "kernel" | "caller">;

/** As it is at this moment: a window that is over shows as over. What is stored is that of the caller's tenant. */
async function presentQuota(quota: QuotaRecord, { kernel, caller }: Asking): Promise<object> {
  const now = kernel.clock.now();
  const { storage_bytes: most } = quota.limits;
  const storage = most === undefined ? null : await storageOf(kernel, caller.tenantId);
  const isFull = storage !== null && most !== undefined && storage.storage_bytes >= most;
  const {
    open: _,
    minute: __,
    deleted_at: ___,
    running: ____,
    ...shown
  } = presentRecord(current(quota, now));
  return {
    ...shown,
    usage: { ...usageOf(current(quota, now), now), ...storage },
    soft_limit: !quota.hard_limit,
    exhaustion_reason: isFull
      ? `storage_bytes: ${storage.storage_bytes} of ${most} used`
      : reasonNow(current(quota, now), now),
  };
}

/** A limit is hard or soft; saying both must not contradict itself. */
function hardLimitOf({ hard_limit, soft_limit }: QuotaFields): boolean | undefined {
  if (hard_limit !== undefined && soft_limit === hard_limit) {
    throw new HarnessError("invalid_request", "A limit is either hard or soft.", { param: "soft_limit" });
  }
  return hard_limit ?? (soft_limit === undefined ? undefined : !soft_limit);
}

export const quotaRoutes = [
  route({
    method: "GET",
    path: "/v1/quotas",
    operationId: "listQuotas",
    scope: "quotas:read",
    summary: "List quotas, newest first.",
    tag,
    query: PageQuery,
    response: ListOf(Quota),
    async handle(call) {
      const page = await listRecords(call, call.caller, "quota", call.query);
      return await presentPage(page, (quota) => presentQuota(quota, call));
    },
  }),
  route({
    method: "POST",
    path: "/v1/quotas",
    operationId: "createQuota",
    scope: "quotas:write",
    summary: "Create a quota.",
    tag,
    status: 201,
    body: CreateQuotaRequest,
    response: Quota,
    async handle(call) {
      const { scope, limits, on_exhaustion, reset_window, reset_at, metadata } = call.body;
      const quota = await call.dispatch(createQuota, {
        scope,
        limits,
        hardLimit: hardLimitOf(call.body),
        onExhaustion: on_exhaustion,
        resetWindow: reset_window,
        resetAt: reset_at,
        metadata: jsonObject(metadata),
      });
      return await presentQuota(quota, call);
    },
  }),
  route({
    method: "GET",
    path: "/v1/quotas/{quota_id}",
    operationId: "getQuota",
    scope: "quotas:read",
    summary: "Read a quota with what is used of it.",
    tag,
    response: Quota,
    async handle(call) {
      const id = call.param("quota_id");
      const quota = await getRecord(call, call.caller, "quota", id);
      if (quota.deleted_at !== null) throw notFound("quota", id);
      return await presentQuota(quota, call);
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/quotas/{quota_id}",
    operationId: "updateQuota",
    scope: "quotas:write",
    summary: "Change the limits of a quota. What is used stays counted.",
    tag,
    body: UpdateQuotaRequest,
    response: Quota,
    async handle(call) {
      const { limits, on_exhaustion, reset_window, reset_at, metadata } = call.body;
      const hard_limit = hardLimitOf(call.body);
      const changes: QuotaChanges = {
        ...(limits === undefined ? {} : { limits }),
        ...(hard_limit === undefined ? {} : { hard_limit }),
        ...(on_exhaustion === undefined ? {} : { on_exhaustion }),
        ...(reset_window === undefined ? {} : { reset_window }),
        ...(reset_at === undefined ? {} : { reset_at }),
        ...(metadata === undefined ? {} : { metadata: jsonObject(metadata) ?? {} }),
      };
      const quota = await call.dispatch(updateQuota, { quotaId: call.param("quota_id"), changes });
      return await presentQuota(quota, call);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/quotas/{quota_id}",
    operationId: "deleteQuota",
    scope: "quotas:write",
    summary: "Delete a quota: it limits nothing any more.",
    tag,
    response: Quota,
    async handle(call) {
      const quota = await call.dispatch(deleteQuota, { quotaId: call.param("quota_id") });
      return await presentQuota(quota, call);
    },
  }),
];

/** Quotas: limits, with what is used of them. */

import { createListed, type Listed } from "./lists.ts";
import { segment, type Transport } from "./transport.ts";
import type { CallOptions, CreateQuotaRequest, Quota, UpdateQuotaRequest, WriteOptions } from "./types.ts";

export interface Quotas extends Listed<Quota> {
  get(id: string, options?: CallOptions): Promise<Quota>;
  create(request: CreateQuotaRequest, options?: WriteOptions): Promise<Quota>;
  /** What is used stays counted. */
  update(id: string, changes: UpdateQuotaRequest, options?: WriteOptions): Promise<Quota>;
  /** The quota as it was last; it limits nothing any more. */
  delete(id: string, options?: WriteOptions): Promise<Quota>;
}

export function createQuotas(transport: Transport): Quotas {
  const at = (id: string) => `/v1/quotas/${segment(id)}`;
  return {
    ...createListed<Quota>(transport, "/v1/quotas"),
    get(id, { signal } = {}) {
      return transport.resource<Quota>("quota", at(id), { signal });
    },
    create(request, { idempotencyKey, signal } = {}) {
      const ask = { method: "POST", body: request, idempotencyKey, signal } as const;
      return transport.resource<Quota>("quota", "/v1/quotas", ask);
    },
    update(id, changes, { idempotencyKey, signal } = {}) {
      const ask = { method: "PATCH", body: changes, idempotencyKey, signal } as const;
      return transport.resource<Quota>("quota", at(id), ask);
    },
    delete(id, { idempotencyKey, signal } = {}) {
      return transport.resource<Quota>("quota", at(id), { method: "DELETE", idempotencyKey, signal });
    },
  };
}

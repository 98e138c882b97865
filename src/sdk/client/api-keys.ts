/** API keys: who may call, and what they may do. */

import { createListed, type Listed } from "./lists.ts";
import { segment, type Transport } from "./transport.ts";
import type { ApiKey, ApiKeyWithMade, CallOptions, CreateApiKeyRequest, WriteOptions } from "./types.ts";

export interface ApiKeys extends Listed<ApiKey> {
  get(id: string, options?: CallOptions): Promise<ApiKey>;
  /** The key itself is in `key` of the answer, this once. */
  create(request: CreateApiKeyRequest, options?: WriteOptions): Promise<ApiKey>;
  /** Replaces the secret: the new one is in `key`, this once. The old one works for another day, unless said otherwise. */
  rotate(id: string, options?: WriteOptions & { overlapSeconds?: number }): Promise<ApiKeyWithMade>;
  /** It, its tokens and the keys that it made no longer work; `made` names what else they made. */
  revoke(id: string, options?: WriteOptions): Promise<ApiKeyWithMade>;
}

export function createApiKeys(transport: Transport): ApiKeys {
  const at = (id: string) => `/v1/api-keys/${segment(id)}`;
  return {
    ...createListed<ApiKey>(transport, "/v1/api-keys"),
    get(id, { signal } = {}) {
      return transport.resource<ApiKey>("api_key", at(id), { signal });
    },
    create(request, { idempotencyKey, signal } = {}) {
      const ask = { method: "POST", body: request, idempotencyKey, signal } as const;
      return transport.resource<ApiKey>("api_key", "/v1/api-keys", ask);
    },
    rotate(id, { overlapSeconds, idempotencyKey, signal } = {}) {
      const body = overlapSeconds === undefined ? {} : { overlap_seconds: overlapSeconds };
      const ask = { method: "POST", body, idempotencyKey, signal } as const;
      return transport.resource<ApiKeyWithMade>("api_key", `${at(id)}/rotate`, ask);
    },
    revoke(id, { idempotencyKey, signal } = {}) {
      return transport.resource<ApiKeyWithMade>("api_key", at(id), {
        method: "DELETE",
        idempotencyKey,
        signal,
      });
    },
  };
}

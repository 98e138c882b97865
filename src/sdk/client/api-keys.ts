/** API keys: who may call, and what they may do. */

import { type Creatable, createCreatable, createReadable, pathOf, type Readable } from "./resources.ts";
import type { Transport } from "./transport.ts";
import type { ApiKey, ApiKeyWithMade, CreateApiKeyRequest, WriteOptions } from "./types.ts";

/** The key itself is in `key` of one that was just created, this once. */
export interface ApiKeys extends Readable<ApiKey>, Creatable<ApiKey, CreateApiKeyRequest> {
  /** Replaces the secret: the new one is in `key`, this once. The old one works for another day, unless said otherwise. */
  rotate(id: string, options?: WriteOptions & { overlapSeconds?: number }): Promise<ApiKeyWithMade>;
  /** It, its tokens and the keys that it made no longer work; `made` names what else they made. */
  revoke(id: string, options?: WriteOptions): Promise<ApiKeyWithMade>;
}

const kind = { object: "api_key", path: "/v1/api-keys" };

export function createApiKeys(transport: Transport): ApiKeys {
  return {
    ...createReadable<ApiKey>(transport, kind),
    ...createCreatable<ApiKey, CreateApiKeyRequest>(transport, kind),
    rotate(id, { overlapSeconds, ...options } = {}) {
      const body = overlapSeconds === undefined ? {} : { overlap_seconds: overlapSeconds };
      const ask = { method: "POST", body, ...options } as const;
      return transport.resource<ApiKeyWithMade>(kind.object, `${pathOf(kind, id)}/rotate`, ask);
    },
    revoke(id, options = {}) {
      const ask = { method: "DELETE", ...options } as const;
      return transport.resource<ApiKeyWithMade>(kind.object, pathOf(kind, id), ask);
    },
  };
}

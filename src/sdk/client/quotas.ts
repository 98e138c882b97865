/** Quotas: limits, with what is used of them. */

import {
  type Changeable,
  type Creatable,
  createChangeable,
  createCreatable,
  createReadable,
  pathOf,
  type Readable,
} from "./resources.ts";
import type { Transport } from "./transport.ts";
import type { CreateQuotaRequest, Quota, UpdateQuotaRequest, WriteOptions } from "./types.ts";

/** What is used stays counted when a quota changes. */
export interface Quotas
  extends Readable<Quota>,
    Creatable<Quota, CreateQuotaRequest>,
    Changeable<Quota, UpdateQuotaRequest> {
  /** The quota as it was last; it limits nothing any more. */
  delete(id: string, options?: WriteOptions): Promise<Quota>;
}

const kind = { object: "quota", path: "/v1/quotas" };

export function createQuotas(transport: Transport): Quotas {
  return {
    ...createReadable<Quota>(transport, kind),
    ...createCreatable<Quota, CreateQuotaRequest>(transport, kind),
    ...createChangeable<Quota, UpdateQuotaRequest>(transport, kind),
    delete: (id, options = {}) =>
      transport.resource<Quota>(kind.object, pathOf(kind, id), { method: "DELETE", ...options }),
  };
}

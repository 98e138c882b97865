/** The administrator's key of the server. For keys without limits of the default tenant, with the scope `admin`. */

import type { Transport } from "./transport.ts";
import type { AdminKey, WriteOptions } from "./types.ts";

export interface AdminKeys {
  /** Replaces the key: the new one is in `key`, this once. The old one no longer works. */
  rotate(options?: WriteOptions): Promise<AdminKey>;
  /** Switches the key off, for later starts too. Another key with the scope `admin` has to exist. */
  disable(options?: WriteOptions): Promise<AdminKey>;
  enable(options?: WriteOptions): Promise<AdminKey>;
}

export function createAdminKey(transport: Transport): AdminKeys {
  const post = (verb: string, { idempotencyKey, signal }: WriteOptions = {}) => {
    const ask = { method: "POST", idempotencyKey, signal } as const;
    return transport.resource<AdminKey>("admin_key", `/v1/admin-key/${verb}`, ask);
  };
  return {
    rotate: (options) => post("rotate", options),
    disable: (options) => post("disable", options),
    enable: (options) => post("enable", options),
  };
}

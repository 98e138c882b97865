/**
 * Credentials that were refused, in the audit log of the tenant whose key was named, or of the default tenant: a record a minute for each
 * address group, with how many there were. Whoever guesses can neither fill the log nor stay out of it.
 */

import { OnceAMinute } from "../../policy/once-a-minute.ts";
import { addressGroup } from "../../policy/rate-limit.ts";
import type { AuthFailure } from "../access/auth-failure.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import type { AuditFacts } from "./record.ts";

/** Groups that have a record of their own; of more, one record counts all that is left. */
const groupsMax = 20;
const keysMax = 5;

interface Group {
  tenantId: string;
  /** Null for all that have no record of their own. */
  address: string | null;
  failures: number;
  reasons: Set<string>;
  keyIds: Set<string>;
}

/** Puts a record into the audit log of a tenant. */
type RecordIn = (tenantId: string, facts: AuditFacts) => Promise<unknown>;

export class FailedSignIns {
  readonly #record: RecordIn;
  readonly #reports: OnceAMinute;
  #groups = new Map<string, Group>();
  #written: Promise<void> = Promise.resolve();

  constructor(record: RecordIn) {
    this.#record = record;
    this.#reports = new OnceAMinute(() => this.#write());
  }

  note({ from, tenantId, keyId, reason }: AuthFailure): void {
    const group = this.#groupOf(tenantId, addressGroup(from));
    group.failures += 1;
    group.reasons.add(reason);
    if (keyId !== null && group.keyIds.size < keysMax) group.keyIds.add(keyId);
    this.#reports.want();
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    this.#write();
    await this.#written;
  }

  #groupOf(tenantId: string, address: string): Group {
    const name = `${tenantId} ${address}`;
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    if (this.#groups.size < groupsMax) return this.#add(name, tenantId, address);
    return this.#groups.get("") ?? this.#add("", defaultTenantId, null);
  }

  #add(name: string, tenantId: string, address: string | null): Group {
    const group = { tenantId, address, failures: 0, reasons: new Set<string>(), keyIds: new Set<string>() };
    this.#groups.set(name, group);
    return group;
  }

  #write(): void {
    const groups = [...this.#groups.values()];
    this.#groups = new Map();
    // While nothing can be written, the log line of the server is all that tells of them.
    this.#written = this.#written.then(() => this.#recordAll(groups)).catch(() => {});
  }

  async #recordAll(groups: readonly Group[]): Promise<void> {
    for (const group of groups) await this.#record(group.tenantId, factsOf(group));
  }
}

function factsOf({ tenantId, address, failures, reasons, keyIds }: Group): AuditFacts {
  const [keyId] = keyIds;
  return {
    action: "auth.fail",
    outcome: "failure",
    resource: null,
    details: { failures, reasons: [...reasons].sort(), key_ids: [...keyIds] },
    by: {
      tenantId,
      actor: null,
      ...(address === null ? {} : { address }),
      ...(keyId === undefined || keyIds.size > 1 ? {} : { keyId }),
    },
  };
}

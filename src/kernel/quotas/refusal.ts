/** What somebody is told whom a quota refuses. */

import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { QuotaRecord } from "../kinds/quota.ts";
import type { Exhaustion } from "./limits.ts";

type Refused = Omit<Exhaustion, "isHeld"> & { quota: QuotaRecord };

/** What a submission is told: to come back when time helps, to have the limit raised when it does not. */
export class QuotaRefusal extends HarnessError {
  readonly quotaId: string;

  constructor({ caller }: Pick<Unit, "caller">, obstacle: Refused) {
    const { quota, limit, most, used, retryAfterMs } = obstacle;
    const { id, scope, reset_at } = quota;
    const what = `The ${scope}'s quota is exhausted: ${used} of ${most} ${limit} are used.`;
    const isPassing = retryAfterMs !== null;
    super(isPassing ? "rate_limited" : "policy_violation", isPassing ? `${what} Try again later.` : what, {
      details: {
        // Whose it is beyond the tenant is not for the tenant to know.
        ...(quota.tenant_id === caller.tenantId ? { quota_id: id } : {}),
        scope,
        limit,
        most,
        used,
        reset_at,
        ...(isPassing ? { retry_after_seconds: Math.max(1, Math.ceil(retryAfterMs / 1000)) } : {}),
      },
    });
    this.quotaId = id;
  }
}

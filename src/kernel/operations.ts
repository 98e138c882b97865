/** What concerns all tenants and somebody may ask for: the way there from commands and surfaces, which see one tenant at a time. */

import type { Caller } from "../policy/caller.ts";
import { type Opened, openConnector } from "./connectors/connector-secret.ts";
import type { WholeDeps } from "./core/unit.ts";
import type { TenantRecord } from "./kinds/tenant.ts";
import { finishErasure } from "./retention/erasure/erase-session.ts";
import { type EraseTenant, eraseTenant } from "./retention/erasure/erase-tenant.ts";
import { requestSweep, type SweepReport } from "./retention/sweep.ts";
import { type MasterKeyRotation, rewrapAll } from "./vaults/rewrap.ts";

export interface Operations {
  /** Content is dropped when no tenant speaks of it. */
  finishErasure(tenantId: string, sessionId: string): Promise<void>;
  eraseTenant(caller: Caller, request: EraseTenant): Promise<TenantRecord>;
  sweep(caller: Caller, dryRun: boolean): Promise<SweepReport>;
  rewrapDataKeys(): Promise<MasterKeyRotation>;
  /** Whose a connector is follows from its id; who speaks to it is known by its secret. */
  openConnector(id: string): Promise<Opened | null>;
}

export function createOperations(deps: () => WholeDeps): Operations {
  return {
    finishErasure: (tenantId, sessionId) => finishErasure(deps(), tenantId, sessionId),
    eraseTenant: (caller, request) => eraseTenant(deps(), caller, request),
    sweep: (caller, dryRun) => requestSweep(deps(), caller, dryRun),
    rewrapDataKeys: () => rewrapAll(deps()),
    openConnector: (id) => openConnector(deps(), id),
  };
}

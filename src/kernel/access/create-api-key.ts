/** Make an API key. The key itself is in the answer and nowhere else, ever; what is kept is its hash. */

import { newApiKey } from "../../policy/api-key.ts";
import { type Caller, isBound, isScope, mayGrant, type Scope, systemCaller } from "../../policy/caller.ts";
import type { AuditDetails } from "../../receipts/audit-record.ts";
import { audited } from "../audit/record.ts";
import { timestamp } from "../core/clock.ts";
import { type Command, runCommand } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import type { Unit } from "../core/unit.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import { defaultTenantId, ensureTenant } from "../workspaces/ensure-tenant.ts";
import { assertMayName } from "./key-actor.ts";
import { type AskedBounds, boundsFor } from "./key-bounds.ts";

export interface CreateApiKey extends AskedBounds {
  name: string;
  actor: string;
  scopes: string[];
  tenantId?: string | undefined;
  expiresAt?: string | null | undefined;
}

export interface CreatedApiKey {
  record: ApiKeyRecord;
  /** Null when the answer is repeated: the key was shown once. */
  key: string | null;
}

export const createApiKey: Command<CreateApiKey, CreatedApiKey> = {
  name: "create_api_key",
  scope: "api_keys:write",
  audit: (_, { record }) => ({
    ...audited("api_key.create", record, keyFacts(record)),
    tenantIds: [record.tenant_id],
  }),
  decide(unit, request) {
    const tenantId = tenantFor(unit, request.tenantId);
    const scopes = request.scopes.map((scope) => grantable(unit.caller, scope));
    const bounds = boundsFor(unit, tenantId, request);
    assertMayName(unit, request.actor);
    const expiresAt = expiryFor(unit, request.expiresAt);
    if (tenantId !== unit.caller.tenantId)
      unit.awaited("tenant", () => runCommand(unit.deps, ensureTenant, systemCaller(tenantId), { tenantId }));
    const envelope = unit.envelope("api_key", "key");
    const { key, hash } = newApiKey(envelope.id);
    const record: ApiKeyRecord = {
      ...envelope,
      tenant_id: tenantId,
      metadata: {},
      name: request.name,
      actor: request.actor,
      scopes,
      ...bounds,
      expires_at: expiresAt,
      revoked_at: null,
      ...unit.madeBy,
      hash,
    };
    return { record: unit.emit(record, "vendor.bridle.api_key.created", { api_key: record }), key };
  },
  forRecord: ({ record }) => ({ record, key: null }),
};

function keyFacts(key: ApiKeyRecord): AuditDetails {
  const { name, actor, scopes, workspace_ids, expires_at, tenant_id } = key;
  const { agent_names, persona_ids, allowed_cidrs } = key;
  return {
    ...{ name, actor, scopes, workspace_ids, expires_at, tenant_id },
    ...(agent_names == null ? {} : { agent_names }),
    ...(persona_ids == null ? {} : { persona_ids }),
    ...(allowed_cidrs == null ? {} : { allowed_cidrs }),
  };
}

/** Who is here for a while cannot let somebody in for longer. Without a wish, a key ends by default, or with its maker. */
function expiryFor({ caller, deps, at }: Unit, asked: string | null | undefined): string | null {
  if (asked === undefined) {
    const usual = deps.keyMs === null ? [] : [timestamp(Date.parse(at) + deps.keyMs)];
    const [first = null] = [...usual, ...(caller.expiresAt === undefined ? [] : [caller.expiresAt])].sort();
    return first;
  }
  if (asked === null && !mayGrant(caller, "admin")) {
    throw new HarnessError("permission_denied", "Only the scope admin makes keys that never expire.", {
      param: "expires_at",
      details: { required_scope: "admin" },
    });
  }
  const expiresAt = asked === null ? null : inUtc(asked);
  if (expiresAt !== null && !mayGrant(caller, "admin")) assertUsualTerm(deps.keyMs, at, expiresAt);
  if (caller.expiresAt === undefined) return expiresAt;
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.parse(caller.expiresAt)) return expiresAt;
  throw new HarnessError(
    "permission_denied",
    `A credential that expires can only make keys that expire by then: set expires_at to ${caller.expiresAt} or earlier.`,
    { param: "expires_at" },
  );
}

function assertUsualTerm(keyMs: number | null, at: string, expiresAt: string): void {
  if (keyMs === null) return;
  const latest = Date.parse(at) + keyMs;
  if (Date.parse(expiresAt) <= latest) return;
  throw new HarnessError(
    "permission_denied",
    `Only the scope admin makes keys that last longer than usual: set expires_at to ${timestamp(latest)} or earlier.`,
    { param: "expires_at", details: { required_scope: "admin" } },
  );
}

function inUtc(time: string): string {
  const ms = Date.parse(time);
  if (!Number.isNaN(ms)) return timestamp(ms);
  throw new HarnessError("invalid_request", "expires_at is not a time that this server can tell.", {
    param: "expires_at",
  });
}

/** Nobody grants what they do not have. */
function grantable(caller: Caller, scope: string): Scope {
  if (!isScope(scope)) {
    throw new HarnessError("invalid_request", `${JSON.stringify(scope)} is not a scope.`, {
      param: "scopes",
    });
  }
  if (mayGrant(caller, scope)) return scope;
  throw new HarnessError("permission_denied", `This key cannot grant the scope ${scope}.`, {
    param: "scopes",
  });
}

/** Only an administrator of the default tenant, who runs the server, may open other tenants. */
function tenantFor(unit: Unit, asked: string | undefined): string {
  const own = unit.caller.tenantId;
  if (asked === undefined || asked === own) return own;
  const runsTheServer = own === defaultTenantId && !isBound(unit.caller);
  if (!runsTheServer || !unit.caller.scopes.has("admin")) {
    throw new HarnessError("permission_denied", "This key cannot make keys for another tenant.", {
      param: "tenant_id",
    });
  }
  return asked;
}

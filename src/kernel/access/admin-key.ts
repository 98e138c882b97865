/** The administrator's key: replace it, switch it off, switch it on again, without a restart. */

import { type Caller, isBound } from "../../policy/caller.ts";
import type { TenantStore } from "../../store/port.ts";
import { audited } from "../audit/record.ts";
import type { Command } from "../core/dispatch.ts";
import { HarnessError } from "../core/errors.ts";
import { paginate } from "../core/paginate.ts";
import type { Unit } from "../core/unit.ts";
import type { ApiKeyRecord } from "../kinds/api-key.ts";
import type { TenantRecord } from "../kinds/tenant.ts";
import { defaultTenantId } from "../workspaces/ensure-tenant.ts";
import { callerOf, usableKey } from "./client-keys.ts";

export interface AdminKeyState {
  disabledAt: string | null;
}

export interface RotatedAdminKey extends AdminKeyState {
  /** Null when the answer is repeated: the key was shown once. */
  key: string | null;
}

type Nothing = Record<string, never>;

/** One change at a time: the file and the log must end with the same key. */
const lock = "admin_key";
const resource = { object: "admin_key", id: "admin_key" };
/** Whoever switches the key off has at least this long to make another one that may do everything. */
const successorMsMin = 24 * 60 * 60 * 1000;

export const rotateAdminKey: Command<Nothing, RotatedAdminKey> = {
  name: "rotate_admin_key",
  scope: "admin",
  isAllowedWithoutRoom: true,
  audit: () => audited("admin_key.rotate", resource),
  decide(unit) {
    const { adminKey } = unit.deps;
    const tenant = loadTenant(unit);
    assertMayHold(unit.caller);
    if (adminKey.origin === "setting") {
      throw new HarnessError(
        "conflict",
        "The administrator's key is set by BRIDLE_API_KEY (--api-key), so the server cannot replace it. Change the setting and restart, or disable the key.",
      );
    }
    const key = unit.awaited("next admin key", async () => prepareNext(unit));
    return { ...stateOf(unit.emit(tenant, changed, { change: "rotated" })), key };
  },
  async afterwards({ adminKey }) {
    adminKey.useNext();
  },
  forRecord: (state) => ({ ...state, key: null }),
};

export const disableAdminKey: Command<Nothing, AdminKeyState> = {
  name: "disable_admin_key",
  scope: "admin",
  isAllowedWithoutRoom: true,
  audit: () => audited("admin_key.disable", resource),
  decide(unit) {
    const tenant = loadTenant(unit);
    if (tenant.admin_key_disabled_at != null) return stateOf(tenant);
    requireSuccessor(unit);
    return stateOf(unit.emit(tenant, changed, { change: "disabled" }));
  },
  async afterwards({ adminKey }) {
    adminKey.setDisabled(true);
  },
};

export const enableAdminKey: Command<Nothing, AdminKeyState> = {
  name: "enable_admin_key",
  scope: "admin",
  isAllowedWithoutRoom: true,
  audit: () => audited("admin_key.enable", resource),
  decide(unit) {
    const tenant = loadTenant(unit);
    if (tenant.admin_key_disabled_at == null) return stateOf(tenant);
    return stateOf(unit.emit(tenant, changed, { change: "enabled" }));
  },
  async afterwards({ adminKey }) {
    adminKey.setDisabled(false);
  },
};

const changed = "vendor.bridle.tenant.admin_key_changed";

function loadTenant(unit: Unit): TenantRecord {
  if (unit.caller.tenantId !== defaultTenantId || isBound(unit.caller)) {
    throw new HarnessError(
      "permission_denied",
      "The administrator's key is the server's: use a key for all of the default tenant.",
    );
  }
  unit.hold(lock);
  return unit.require("tenant", defaultTenantId);
}

function stateOf({ admin_key_disabled_at: disabledAt = null }: TenantRecord): AdminKeyState {
  return { disabledAt };
}

/** Whoever rotates the key holds it afterwards, for ever and everywhere. */
function assertMayHold({ expiresAt, allowedCidrs }: Caller): void {
  if (expiresAt === undefined && allowedCidrs === undefined) return;
  throw new HarnessError(
    "permission_denied",
    "This credential expires or is bound to addresses, so it cannot rotate the administrator's key, which is neither. Use the administrator's key or an admin key without these limits.",
  );
}

function prepareNext({ deps: { adminKey, redactor } }: Unit): string {
  try {
    const key = adminKey.prepareNext();
    redactor.add([key]);
    return key;
  } catch (cause) {
    const message =
      "Cannot write admin.key in the data directory. Free disk space or correct its permissions, then rotate again.";
    throw new HarnessError("service_unavailable", message, {}, { cause });
  }
}

function requireSuccessor(unit: Unit): void {
  const until = Date.parse(unit.at) + successorMsMin;
  const found = unit.awaited("successor", () => findSuccessor(unit.own, until));
  // Through the unit: a key that is revoked at the same time makes this decision void.
  if (found !== null && unit.find("api_key", found)?.revoked_at === null) return;
  throw new HarnessError(
    "conflict",
    "Nobody could run the server without the administrator's key. First make an API key of the default tenant with the scope admin that is bound to no workspaces, agents or personas and does not expire within a day: bridle key create NAME --scope admin",
  );
}

/** A key of the whole tenant that may do everything, and is good until then. */
async function findSuccessor(own: TenantStore, until: number): Promise<string | null> {
  for await (const page of paginate(own, { kind: "api_key" })) {
    for (const key of page.map(({ body }) => body as ApiKeyRecord)) {
      if (key.revoked_at !== null || !key.scopes.includes("admin") || isBound(callerOf(key))) continue;
      if ((await usableKey(own, key.id, until)) !== null) return key.id;
    }
  }
  return null;
}

/** The one who calls, as far as a gateway knows anybody: an enforcer or an approver of a tenant, or who administers it. */

import { refusal } from "./refusals.ts";

export type Role = "enforcer" | "approver";

export interface Principal {
  tenantId: string;
  role: Role | "admin";
  id: string;
}

/** Whose inbox something is in. */
export interface Mailbox {
  tenantId: string;
  role: Role;
  id: string;
}

/** Everybody acts as themselves, administrators too: nobody signs or asks in the name of another. */
export function mailboxFor({ tenantId, role, id }: Principal, as: { role: Role; id: string }): Mailbox {
  if (role !== as.role || id !== as.id) {
    throw refusal("Forbidden", `These credentials are not those of this ${as.role}.`);
  }
  return { tenantId, ...as };
}

export function requireRole({ role }: Principal, wanted: Role | "admin"): void {
  if (role === wanted) return;
  throw refusal("Forbidden", `This is for ${wanted === "admin" ? "administrators" : `${wanted}s`} only.`);
}

/** As it stands in the log. */
export function actorOf({ role, id }: Pick<Principal, "role" | "id">): string {
  return `${role}:${id}`;
}

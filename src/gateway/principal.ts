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

/** Who administers a tenant may act for anybody in it; everybody else is only themselves. */
export function mailboxFor({ tenantId, role, id }: Principal, as: { role: Role; id: string }): Mailbox {
  const isSelf = role === as.role && id === as.id;
  if (!isSelf && role !== "admin") {
    throw refusal("Forbidden", `These credentials are not those of this ${as.role}.`);
  }
  return { tenantId, ...as };
}

export function requireRole({ role }: Principal, wanted: Role | "admin"): void {
  if (role === wanted || role === "admin") return;
  throw refusal("Forbidden", `This is for ${wanted === "admin" ? "administrators" : `${wanted}s`} only.`);
}

/** As it stands in the log. */
export function actorOf({ role, id }: Pick<Principal, "role" | "id">): string {
  return `${role}:${id}`;
}

/** What is looked for in the audit log is in the address. */

export interface AuditFilters {
  action?: string;
  actor?: string;
}

export function readAuditFilters({ action, actor }: Record<string, unknown>): AuditFilters {
  const word = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
  const found = { action: word(action), actor: word(actor) };
  return {
    ...(found.action === undefined ? {} : { action: found.action }),
    ...(found.actor === undefined ? {} : { actor: found.actor }),
  };
}

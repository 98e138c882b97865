/** A record of its own in the audit log: for what changes nothing else, such as reads, exports and failed sign-ins. */

import type { Command } from "../core/dispatch.ts";
import { type AuditFacts, recordAudit } from "./record.ts";

export const noteAudit: Command<AuditFacts, null> = {
  name: "note_audit",
  scope: "admin",
  decide(unit, facts) {
    recordAudit(unit, facts);
    return null;
  },
};

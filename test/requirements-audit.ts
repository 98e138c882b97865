/** What the audit log promises. */

import { type Requirement, section } from "./requirements.ts";

export const auditRequirements: readonly Requirement[] = section("Bridle", "Audit log", {
  "AUD-1":
    "An administrative change and its audit record are in one commit: who, what, from where, never content or secrets.",
  "AUD-2":
    "Every record has the hash of the one before it. Verification names the first record that was changed, dropped or moved.",
  "AUD-3":
    "Concurrent commands leave a chain without gaps, and the document of the log is the fold of its records.",
  "AUD-4": "Every command is audited or listed as one that is not, with a reason.",
  "AUD-5": "What an administrator of the server does in another tenant is in the audit logs of both.",
  "AUD-7": "The audit log is read in pages with filters, as a stream from a cursor, and as a whole.",
  "AUD-8":
    "`bridle audit` lists, follows, exports and verifies the audit log, a file of it without a server.",
  "AUD-9":
    "Refused credentials are recorded with their address, bounded in number, and counted as a metric by reason.",
  "AUD-10":
    "An administrator's reads of content that others made are recorded, at most once per credential, resource and hour; exports always.",
  "AUD-11":
    "Retention and erasure remove no audit record; what they did is recorded, and so is another retention period.",
  "AUD-6": "Audit records are read with the scope `audit:read`, which `events:read` does not include.",
});

/** What is taken of a record that came with the log of another server: what was said and done, and nothing that decides here. */

import type { AnyRecord } from "../../core/fold.ts";
import type { ImportMark } from "../../kinds/resource.ts";

export function asImported(record: AnyRecord, imported: ImportMark): AnyRecord {
  switch (record.object) {
    case "session": {
      // Its transcript is its own; what its tasks may read and use, and who speaks for it, is decided here.
      const { id, object, tenant_id, created_at, updated_at, metadata, workspace_id, context_id } = record;
      return {
        ...{ id, object, tenant_id, created_at, updated_at, metadata, workspace_id, imported },
        ...(context_id === undefined ? {} : { context_id }),
        state: "ACTIVE",
        persona_id: null,
        root_session_id: null,
        parent_session_id: null,
        branch_id: record.branch_id,
        summary: record.summary,
        expires_at: record.expires_at,
        memory_ids: [],
        skill_ids: [],
        vault_ids: [],
        ranges: [{ session_id: id, after: 0, through: null }],
      };
    }
    case "task":
      return { ...record, imported, quota_ids: [], granted_quota_ids: [], exhausted_quota_ids: [] };
    case "artifact":
      // The bytes of a caller do not travel with the log.
      return record.is_upload === true ? { ...record, imported, blob: null } : { ...record, imported };
    case "receipt":
      return { ...record, imported, index: null };
    default:
      return { ...record, imported };
  }
}

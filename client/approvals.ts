/** What agents ask permission for, and the answers. */

import { segment, type Transport } from "./transport.ts";
import type { Page, PageOptions, PermissionRequest, PermissionResponse, WriteOptions } from "./types.ts";

export interface Approvals {
  /** Pending and answered, newest first. */
  list(options?: PageOptions & { sessionId?: string; taskId?: string }): Promise<Page<PermissionRequest>>;
  respond(id: string, response: PermissionResponse, options?: WriteOptions): Promise<PermissionRequest>;
}

export function createApprovals(transport: Transport): Approvals {
  return {
    list({ sessionId, taskId, limit, cursor, signal } = {}) {
      const query = { session_id: sessionId, task_id: taskId, limit, cursor };
      return transport.page<PermissionRequest>("/v1/permission-requests", { query, signal });
    },
    respond(id, response, { idempotencyKey, signal } = {}) {
      const ask = { method: "POST", body: response, idempotencyKey, signal } as const;
      const path = `/v1/permission-requests/${segment(id)}/respond`;
      return transport.resource<PermissionRequest>("permission_request", path, ask);
    },
  };
}

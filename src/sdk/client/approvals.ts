/** What agents ask permission for, and the answers. */

import { createListed, type Listed } from "./lists.ts";
import { segment, type Transport } from "./transport.ts";
import type { PageOptions, PermissionRequest, PermissionResponse, WriteOptions } from "./types.ts";

export interface ListApprovals extends PageOptions {
  sessionId?: string;
  taskId?: string;
}

/** Pending and answered, newest first. */
export interface Approvals extends Listed<PermissionRequest, ListApprovals> {
  respond(id: string, response: PermissionResponse, options?: WriteOptions): Promise<PermissionRequest>;
}

export function createApprovals(transport: Transport): Approvals {
  return {
    ...createListed<PermissionRequest, ListApprovals>(
      transport,
      "/v1/permission-requests",
      ({ sessionId, taskId }) => ({ session_id: sessionId, task_id: taskId }),
    ),
    respond(id, response, { idempotencyKey, signal } = {}) {
      const ask = { method: "POST", body: response, idempotencyKey, signal } as const;
      const path = `/v1/permission-requests/${segment(id)}/respond`;
      return transport.resource<PermissionRequest>("permission_request", path, ask);
    },
  };
}

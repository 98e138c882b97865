/** What tools are given when a test calls them. */

import { WorkspaceFiles, type WorkspacePlace } from "../../src/files/workspace-files.ts";
import { createOutbound } from "../../src/policy/outbound.ts";
import type { ToolContext } from "../../src/tools/tool.ts";

/** Private addresses may be asked: that is where tests listen. */
export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  const place: WorkspacePlace = {
    id: "workspace_sample",
    tenantId: "tenant_sample",
    root: "",
    mayUseRoots: false,
  };
  return {
    signal: new AbortController().signal,
    idempotencyKey: "task_sample:tool:sample:1",
    attempt: 1,
    traceHeaders: {},
    taskId: "task_sample",
    workspaceId: place.id,
    outbound: createOutbound({ allowPrivate: true }),
    files: new WorkspaceFiles({ directory: null }),
    place: async () => place,
    secret: async () => "",
    ...given,
  };
}

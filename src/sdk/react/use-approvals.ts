/** What agents ask permission for, and the answers. */

import { useState } from "react";
import type { BridleClient, PermissionRequest } from "../client/index.ts";
import { type Followed, useFollowed } from "./follow.ts";

export interface UseApprovals {
  /** Only those of a session or a task. */
  sessionId?: string;
  taskId?: string;
}

export interface ApprovalsState extends Followed {
  /** Those that wait, newest first. */
  pending: readonly PermissionRequest[];
  approve(id: string, reason?: string): Promise<void>;
  deny(id: string, reason?: string): Promise<void>;
}

const changing =
  /^tool\.(?:approval_required|approved|denied)$|^user\.tool_confirmation$|^task\.(?:completed|failed|canceled)$/;

/** It reads what waits, and again whenever something about approvals is in the log. */
export function useApprovals(client: BridleClient, { sessionId, taskId }: UseApprovals = {}): ApprovalsState {
  const [pending, setPending] = useState<readonly PermissionRequest[]>([]);
  const followed = useFollowed(`${sessionId ?? ""} ${taskId ?? ""}`, async (signal, onConnection) => {
    const filter = {
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(taskId === undefined ? {} : { taskId }),
    };
    const read = async () => {
      const { items } = await client.approvals.list({ ...filter, limit: 100, signal });
      if (!signal.aborted) setPending(items.filter(({ status }) => status === "pending"));
    };
    await read();
    const events =
      taskId === undefined
        ? client.events({ ...(sessionId === undefined ? {} : { sessionId }), signal, onConnection })
        : client.tasks.events(taskId, { signal, onConnection });
    for await (const { event } of events) if (changing.test(event)) await read();
  });
  const respond = async (id: string, approved: boolean, reason: string | undefined) => {
    await client.approvals.respond(id, { approved, ...(reason === undefined ? {} : { reason }) });
    setPending((now) => now.filter((request) => request.id !== id));
  };
  return {
    pending,
    ...followed,
    approve: (id, reason) => respond(id, true, reason),
    deny: (id, reason) => respond(id, false, reason),
  };
}

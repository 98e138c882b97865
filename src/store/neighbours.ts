/** Events of one commit that can share a row: what they have in common is stored once. */

import type { NewEvent } from "./port.ts";

export type Run<Event> = [Event, ...Event[]];

/** The events in order, in runs that can share a row. */
export function neighbours<Event extends NewEvent>(events: readonly Event[]): Run<Event>[] {
  const runs: Run<Event>[] = [];
  for (const event of events) {
    const run = runs.at(-1);
    if (run !== undefined && shareRow(run[0], event)) run.push(event);
    else runs.push([event]);
  }
  return runs;
}

function shareRow(a: NewEvent, b: NewEvent): boolean {
  return (
    a.taskId === b.taskId &&
    a.sessionId === b.sessionId &&
    a.workspaceId === b.workspaceId &&
    a.tenantId === b.tenantId &&
    a.actor === b.actor &&
    a.keyId === b.keyId &&
    a.createdAt === b.createdAt
  );
}

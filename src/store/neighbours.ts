/** Events of one commit that can share a row: what they have in common is stored once. */

import type { NewEvent } from "./port.ts";

export type Run<Event> = [Event, ...Event[]];

/** A row is read whole for any of its events. */
const runMax = 64;

/** The events in order, in runs that can share a row. */
export function* neighbours<Event extends NewEvent>(events: readonly Event[]): Generator<Run<Event>> {
  let run: Run<Event> | null = null;
  for (const event of events) {
    if (run !== null && run.length < runMax && shareRow(run[0], event)) run.push(event);
    else {
      if (run !== null) yield run;
      run = [event];
    }
  }
  if (run !== null) yield run;
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

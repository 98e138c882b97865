/** The steps of a task that ended, in the order of its log: what a replay can be given other values for. */

import type { TenantStore } from "../../store/port.ts";
import { asRecorded, eventId, type RecordedEvent } from "../core/events.ts";
import { readLog } from "../core/log-tail.ts";
import { stepMark } from "../tasks/steps.ts";

export interface SourceStep {
  key: string;
  /** Its place among the steps. */
  order: number;
  eventIds: string[];
  begun: RecordedEvent | null;
}

export async function readSourceSteps(store: TenantStore, taskId: string): Promise<Map<string, SourceStep>> {
  const steps = new Map<string, SourceStep>();
  for await (const events of readLog(store, { taskId, after: 0 })) {
    for (const event of events.map(asRecorded)) {
      const mark = stepMark(event);
      if (mark === null || mark.phase === "attempted") continue;
      const step = steps.get(mark.key) ?? { key: mark.key, order: steps.size, eventIds: [], begun: null };
      step.eventIds.push(eventId(event.position));
      if (mark.phase === "begun") step.begun = event;
      steps.set(mark.key, step);
    }
  }
  return steps;
}

/** The steps that an override key means: the one of that name, or all of them when it leaves out the number. */
export function stepFinder(steps: ReadonlyMap<string, SourceStep>): (key: string) => readonly SourceStep[] {
  const named = Map.groupBy(steps.values(), ({ key }) => key.replace(/:\d+$/, ""));
  return (key) => {
    const exact = steps.get(key);
    return exact === undefined ? (named.get(key) ?? []) : [exact];
  };
}

/** What events say about tasks that a runtime has to know before it has read them from the store. */

import { blobBytes } from "../../kernel/core/content.ts";
import { asKernelEvent, type KernelEvent } from "../../kernel/core/events.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import type { NewEvent } from "../../store/port.ts";

/** Large content is read from the disk, and it is not there yet. */
export function hasLargeInput({ input }: TaskRecord, events: readonly NewEvent[]): boolean {
  if ("payload" in input) return blobBytes(input.payload) > 0;
  return events
    .map(asKernelEvent)
    .some(({ event, payload }) => event === "user.message" && blobBytes(payload.message.parts) > 0);
}

/** The step of a run that an event from outside answers. */
export function answeredStep(event: KernelEvent): string | null {
  switch (event.event) {
    case "user.input_submitted":
    case "user.tool_confirmation":
      return event.payload.step;
    case "span.completed":
    case "span.failed": {
      const { kind, call_id, handoff, step } = event.payload;
      const isChild = kind === "spawn" && event.event === "span.completed";
      const isFromOutside = isChild || call_id !== undefined || handoff !== undefined;
      return isFromOutside ? step : null;
    }
    default:
      return null;
  }
}

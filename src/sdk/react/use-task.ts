/** One task, live. */

import { useState } from "react";
import type { BridleClient, BridleEvent, Task } from "../client/index.ts";
import { type Followed, useFollowed } from "./follow.ts";

/** As many events as a page needs to show; the log has all of them. */
const eventsMax = 1000;

export interface TaskState extends Followed {
  /** Null until it was read. */
  task: Task | null;
  /** The last 1000, oldest first. */
  events: readonly BridleEvent[];
  /** What a model writes at this moment, as far as everybody may read it. */
  text: string;
  answer(value: unknown): Promise<void>;
  cancel(reason?: string): Promise<void>;
}

const empty = { task: null, events: [], text: "" } as const;

/** Events after which the task is read again. */
const changing =
  /^task\.|^tool\.approval_required$|^user\.(?:input_submitted|tool_confirmation)$|^receipt\.issued$/;

export function useTask(client: BridleClient, taskId: string | null): TaskState {
  const [state, setState] = useState<Pick<TaskState, "task" | "events" | "text">>(empty);
  const followed = useFollowed(taskId, async (signal, onConnection) => {
    if (taskId === null) return;
    setState(empty);
    const read = async () => {
      const task = await client.tasks.get(taskId, { signal });
      if (!signal.aborted) setState((now) => ({ ...now, task }));
    };
    await read();
    for await (const event of client.tasks.events(taskId, { signal, onConnection })) {
      if (signal.aborted) return;
      setState((now) => ({
        ...now,
        events: [...now.events, event].slice(-eventsMax),
        text: textAfter(now.text, event),
      }));
      if (changing.test(event.event)) await read();
    }
  });
  return {
    ...state,
    ...followed,
    async answer(value) {
      if (taskId !== null) await client.tasks.answer(taskId, value);
    },
    async cancel(reason) {
      if (taskId !== null) await client.tasks.cancel(taskId, reason === undefined ? {} : { reason });
    },
  };
}

/** It grows with what a model writes, and is over with the message that says it. */
export function textAfter(text: string, event: BridleEvent): string {
  if (event.event === "agent.message") return "";
  if (event.event !== "span.updated") return text;
  const { delta } = event.payload;
  if (delta?.type !== "text" || typeof delta.text !== "string") return text;
  return delta.index === 0 ? delta.text : text + delta.text;
}

/** Following a task until it has ended or needs somebody, and telling whoever waits what happens meanwhile. */

import { unsealShown } from "../../kernel/core/content.ts";
import { notFound } from "../../kernel/core/errors.ts";
import { asRecorded, type RecordedEvent } from "../../kernel/core/events.ts";
import { followLog, readLog } from "../../kernel/core/log-tail.ts";
import { findVisible } from "../../kernel/core/read.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { textOf } from "../../kernel/kinds/message.ts";
import type { TaskRecord } from "../../kernel/kinds/task.ts";
import { isFinal } from "../../kernel/tasks/lifecycle.ts";
import { type Caller, mayUse } from "../../policy/caller.ts";
import type { Position, StoredEvent } from "../../store/port.ts";

interface Following {
  kernel: Kernel;
  caller: Caller;
  taskId: string;
  /** What is told begins after this event. */
  after: Position;
  /** Questions that somebody has been asked already: they are not waited with. */
  asked: ReadonlySet<string>;
  signal: AbortSignal;
  tell: ((message: string) => Promise<void>) | null;
}

/** The task as it is when it is at rest, or when the signal says that it is time. */
export async function follow(following: Following): Promise<TaskRecord> {
  const { kernel, caller, taskId, after, asked, signal } = following;
  const store = kernel.store.of(caller.tenantId);
  const { tail } = kernel;
  const task = await read(kernel, caller, taskId);
  if (isAtRest(task, asked)) {
    for await (const events of readLog(store, { taskId, after })) await tellNews(following, events);
    return task;
  }
  for await (const events of followLog(store, tail, { taskId, after }, signal)) {
    await tellNews(following, events);
    const now = await read(kernel, caller, taskId);
    if (isAtRest(now, asked)) return now;
  }
  return await read(kernel, caller, taskId);
}

async function tellNews({ kernel, caller, tell }: Following, events: StoredEvent[]): Promise<void> {
  for (const event of tell === null ? [] : events) {
    const news = await newsIn(kernel, caller, asRecorded(event));
    if (news !== null) await tell?.(news);
  }
}

function isAtRest({ status, pending }: TaskRecord, asked: ReadonlySet<string>): boolean {
  return isFinal(status) || (pending !== null && !asked.has(pending.step));
}

async function newsIn(kernel: Kernel, caller: Caller, event: RecordedEvent): Promise<string | null> {
  switch (event.event) {
    case "agent.message": {
      if (!mayUse(caller, "messages:read")) return null;
      const found = await unsealShown(event.payload.message.parts, kernel.store.of(caller.tenantId));
      const shown = "value" in found ? found.value.filter(({ visibility }) => visibility === "public") : [];
      return textOf(shown) || null;
    }
    case "span.updated": {
      const { message, percent } = event.payload;
      if (message === undefined) return null;
      return percent === undefined ? message : `${message} (${percent} %)`;
    }
    default:
      return null;
  }
}

async function read({ store }: Kernel, caller: Caller, taskId: string): Promise<TaskRecord> {
  const task = await findVisible(store, caller, "task", taskId);
  if (task === undefined) throw notFound("task", taskId);
  return task;
}
